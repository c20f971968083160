"""All pages of the web console in a real browser. In a file of its own, so that other tests run beside it."""

from browser import in_a_browser


def test_every_page_is_accessible_in_both_schemes_at_every_width(server, tmp_path):
    in_a_browser(server, tmp_path, "e2e:pages", 900)
