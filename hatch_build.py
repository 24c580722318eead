"""The package index shows README.md; its relative links lead to the repository once pyproject.toml names one."""

import re
from pathlib import Path

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?:|#)([^)]+)\)")


def absolute(text: str, url: str, version: str) -> str:
    """Return Markdown whose links and images are those of the version's tag in the repository at `url`."""

    def link(match: re.Match[str]) -> str:
        kind = "raw" if match[1] else "blob"
        return f"{match[1]}{match[2]}({url.rstrip('/')}/{kind}/v{version}/{match[3]})"

    return LINK.sub(link, text)


class CustomMetadataHook(MetadataHookInterface):
    """Hatchling finds the class by this name."""

    def update(self, metadata: dict) -> None:
        """Set the readme of the built package."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        if url := metadata.get("urls", {}).get("Repository"):
            text = absolute(text, url, metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
