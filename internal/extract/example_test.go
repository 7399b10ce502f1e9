package extract_test

import (
	"fmt"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// Two polls of a page that was served with another token and another order of
// attributes, and on which one price has changed.
func Example() {
	read := func(body string) []byte {
		rd, err := extract.Extract(reading.Recipe{CSS: "#prices"}, freshet.Response{MediaType: "text/html", Body: []byte(body)})
		if err != nil {
			fmt.Println(err)
		}
		return rd.Text
	}
	old := read(`<input type="hidden" name="token" value="8f2e"><table id="prices" class="wide"><tr><td>Pump<td>10 €<tr><td>Hose<td>3 €</table>`)
	new := read(`<input type="hidden" name="token" value="77ab"><table class="wide" id="prices"><tr><td>Pump<td>12 €<tr><td>Hose<td>3 €</table>`)
	delta := extract.Diff(old, new)
	fmt.Println(delta.Summary())
	fmt.Print(delta.Unified("yesterday", "today"))
	// Output:
	// +1 -1 line: Pump | 12 €
	// --- yesterday
	// +++ today
	// @@ -1,2 +1,2 @@
	// -Pump | 10 €
	// +Pump | 12 €
	//  Hose | 3 €
}
