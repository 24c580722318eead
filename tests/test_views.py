"""What a notebook shows of an object: escaped HTML without JavaScript, and one line as text."""

from jaxbandit.markup import html_table, view

HOSTILE = "<script>alert('&')</script>"


def test_every_cell_title_and_note_of_a_table_is_escaped():
    shown = view(
        HOSTILE, html_table([HOSTILE], [[HOSTILE]], caption=HOSTILE), notes=[HOSTILE], about={HOSTILE: HOSTILE}
    )
    assert "<script" not in shown
    assert shown.count("&lt;script&gt;alert(&#x27;&amp;&#x27;)&lt;/script&gt;") == 7
