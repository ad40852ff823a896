"""What the pipeline's properties say, for whoever makes the reference."""
SIZERS = ("tokenize", "resize", "patchify")


class Settings:
    """elements: [{"factory", "name", "properties"}] in the order of the pipeline"""

    def __init__(self, elements):
        self.elements = elements

    def find(self, factory):
        """the properties of the first such element, or None"""
        return next((e["properties"] for e in self.elements if e["factory"] == factory), None)

    def get(self, factory, name, default=None):
        properties = self.find(factory)
        return default if properties is None or properties.get(name) is None else properties[name]

    def sizing(self, name, default):
        """the first element that has a sizing property decides, all later ones obey"""
        for element in self.elements:
            if element["factory"] in SIZERS and name in element["properties"]:
                return element["properties"][name]
        return default

    @property
    def factor(self):
        return self.sizing("patch-size", 16) * self.sizing("merge-size", 2)

    @property
    def statistics(self):
        """mean, deviation and factor of the normalisation"""
        mean = [float(x) for x in self.get("patchify", "image-mean", [0.5] * 3)]
        std = [float(x) for x in self.get("patchify", "image-std", [0.5] * 3)]
        return mean, std, self.get("patchify", "rescale-factor", 1 / 255)
