"""How the page looks: light, dark, on paper."""
N_COLOURS = 8

STYLE = """
:root { color-scheme: light dark; --back: #fbfbf9; --text: #1b1d1f; --soft: #5c6166; --line: #c9cdd1; --box: #fff;
  --wait: #c2620e; --transfer: #4a7fbf; --train: #4f9068; --plain: #6f7a84;
  --c0: #0b6b3a; --c1: #b3541e; --c2: #2f5fa8; --c3: #8a2be2; --c4: #7a6a00; --c5: #b3261e; --c6: #007a87; --c7: #5c6166; }
@media (prefers-color-scheme: dark) { :root { --back: #15181b; --text: #eceff1; --soft: #a5adb4; --line: #3b4248; --box: #1f2428;
  --wait: #d9822b; --transfer: #6d9fd6; --train: #5fa67c; --plain: #8a949d;
  --c0: #5fd08d; --c1: #f0935a; --c2: #7fb0f5; --c3: #c79bff; --c4: #d6c24a; --c5: #ff8a80; --c6: #4fd0de; --c7: #b5bcc3; } }
body { margin: 0 auto; max-width: 80rem; padding: 0 1rem 3rem; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
p, h1, h2, h3, li { overflow-wrap: anywhere; } h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; } h3 { font-size: 1rem; margin: 1rem 0 .3rem; }
.soft, figcaption, caption { color: var(--soft); } figure { margin: 0 0 1rem; } a { color: inherit; }
:focus-visible { outline: 3px solid var(--transfer); outline-offset: 2px; }
.scroll { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: .85rem; }
th, td { text-align: right; padding: .25rem .6rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:first-child, td:first-child { text-align: left; font-weight: 500; } thead th { color: var(--soft); font-weight: 500; font-size: .85rem; }
svg { box-sizing: border-box; background: var(--box); border: 1px solid var(--line); border-radius: .4rem; width: 100%; height: auto; }
.scroll > svg { min-width: 60rem; }
svg text { fill: var(--text); font: 13px system-ui, sans-serif; } svg .soft { fill: var(--soft); } svg .axis { stroke: var(--line); }
.wait { fill: var(--wait); } .transfer { fill: var(--transfer); } .train { fill: var(--train); } .plain { fill: var(--plain); }
rect { stroke: var(--box); stroke-width: 1; }
svg .plot { fill: none; stroke-width: 2; stroke-linejoin: round; } svg .plot:hover { stroke-width: 5; }
.key { display: inline-block; vertical-align: middle; width: 1.8rem; height: .8rem; margin: 0 .3rem 0 0; border: 0; border-radius: 0; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: 0 1.2rem; margin: .2rem 0 0; padding: 0; }
code { overflow-wrap: anywhere; } pre { white-space: pre-wrap; overflow-wrap: anywhere; background: var(--box); border: 1px solid var(--line);
  border-radius: .4rem; padding: .6rem; font-size: .85rem; }
@page { size: A4 landscape; margin: 12mm; }
@media print { :root { color-scheme: light; --back: #fff; --text: #000; --soft: #444; --line: #bbb; --box: #fff;
  --wait: #c2620e; --transfer: #4a7fbf; --train: #4f9068; --plain: #6f7a84;
  --c0: #0b6b3a; --c1: #b3541e; --c2: #2f5fa8; --c3: #8a2be2; --c4: #7a6a00; --c5: #b3261e; --c6: #007a87; --c7: #5c6166; }
  body { max-width: none; padding: 0; font-size: 10pt; } .scroll { overflow: visible; } .scroll > svg { min-width: 0; }
  table { font-size: 7.5pt; } th, td { padding: .15rem .3rem; } thead th { white-space: normal; vertical-align: bottom; }
  figure, tr, pre { break-inside: avoid; } h2, h3 { break-after: avoid; } }
""" + "".join(f".c{i} {{ stroke: var(--c{i}); }}\n" for i in range(N_COLOURS))
