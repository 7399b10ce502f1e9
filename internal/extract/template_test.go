package extract_test

import (
	"testing"

	"freshet/internal/freshet/reading"
)

// What a rendered page does not display is no text of it, and can be selected.
func TestTemplates(t *testing.T) {
	const page = `<p>shown</p><template><p class="off">hidden</p></template><table><tbody><template><tr class="row"><td>a cell</td></tr></template></tbody></table>`
	for selector, want := range map[string]string{"": "shown\n", ".off": "hidden\n", ".row": "a cell\n"} {
		if got := textOf(t, reading.Recipe{CSS: selector}, page); got != want {
			t.Errorf("%q is %q, want %q", selector, got, want)
		}
	}
	if got := textOf(t, reading.Recipe{Read: []reading.Step{{Name: "xpath", Arg: `"//p[@class='off']"`}}}, page); got != "hidden\n" {
		t.Errorf("by XPath it is %q", got)
	}
}
