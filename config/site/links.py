"""Links from the documentation to other files of the project lead to the repository."""

import re

OUTSIDE = re.compile(r"\]\(\.\./([^)]+)\)")


def on_page_markdown(markdown, config, **_):
    """Replaces each link that leads out of the documentation."""
    return OUTSIDE.sub(lambda link: "](%s/blob/main/%s)" % (config["repo_url"].rstrip("/"), link.group(1)), markdown)
