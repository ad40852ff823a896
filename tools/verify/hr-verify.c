/* hr-verify.c: checks that users can run themselves; each subcommand is a file of its own */
#include "stdout.h"
#include "verify.h"
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *summary;
  int (*run) (int argc, char **argv);
} commands[] = {
  { "parity", "compare samples of a pipeline with Hugging Face's processor", verify_parity },
  { "resume", "cut a pipeline's run, go on, and compare with the uninterrupted run",
    verify_resume },
};

static int
run (int argc, char **argv)
{
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    if (strcmp (argv[1], commands[i].name) == 0) {
      g_autofree char *name = g_strconcat ("hr-verify ", commands[i].name, NULL);

      argv[1] = name;
      g_set_prgname (name);
      return commands[i].run (argc - 1, argv + 1);
    }
  fprintf (stderr, "hr-verify: no check \"%s\": hr-verify --help\n", argv[1]);
  return EXIT_USAGE;
}

static void
print_help (void)
{
  printf ("Usage:\n  hr-verify CHECK [OPTION…] …\n\nChecks:\n");
  for (guint i = 0; i < G_N_ELEMENTS (commands); i++)
    printf ("  %-8s  %s\n", commands[i].name, commands[i].summary);
  printf ("\nhr-verify CHECK --help tells more. Exit status: 0 as promised, 1 not so or failed,\n"
          "2 wrong usage, or something that the check needs is missing.\n");
}

int
main (int argc, char **argv)
{
  int status = EXIT_OK;

  setlocale (LC_ALL, "");
  stdout_watch ("hr-verify");
  /* pictures come from strangers: libvips opens nothing but what is known to be safe */
  g_setenv ("VIPS_BLOCK_UNTRUSTED", "1", FALSE);
  /* a reader that has left is an error of write() */
  signal (SIGPIPE, SIG_IGN);
  if (argc < 2) {
    fprintf (stderr, "hr-verify: which check? hr-verify --help\n");
    return EXIT_USAGE;
  }
  if (strcmp (argv[1], "--version") == 0)
    printf ("hr-verify %s\n", HR_VERSION);
  else if (strcmp (argv[1], "--help") == 0 || strcmp (argv[1], "-h") == 0)
    print_help ();
  else
    status = run (argc, argv);
  return status;
}
