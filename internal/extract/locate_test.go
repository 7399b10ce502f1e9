package extract_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"freshet/internal/extract"
)

func TestLocate(t *testing.T) {
	const rest = `<h1>Pumps</h1><p>All about pumps, old and new.</p><p class="note">We ship on Mondays.</p>`
	tests := []struct{ name, page, line, want string }{
		{"an element with an id", `<p id="clock">Now it is 10:0%d</p>`, `^Now it is [\d:]+$`, `{"drop":"#clock"}`},
		{"a class that is there once", `<div><p class="stamp small">Now it is 10:0%d</p></div>`, `^Now it is [\d:]+$`, `{"drop":"p.stamp"}`},
		{"only what differs in a line", `<p>Visitors so far: <b id="count">12%d</b>, thank you</p>`, `^Visitors so far: \d+, thank you$`, `{"drop":"#count"}`},
		{"an element around it", `<div id="foot"><p>Made at 10:0%d</p></div>`, `^Made at [\d:]+$`, `{"drop":"#foot"}`},
		{"a class that others have", `<p class="note">Made at 10:0%d</p>`, `^Made at [\d:]+$`, ""},
		{"no name at all", `<p>Made at 10:0%d</p>`, `^Made at [\d:]+$`, ""},
		{"an element that holds much else", `<div id="all"><p>one</p><p>two</p><p>three</p><p>Made at 10:0%d</p></div>`, `^Made at [\d:]+$`, ""},
		{"an id that is another each time", `<p id="p%[1]d">Made at 10:0%[1]d</p>`, `^Made at [\d:]+$`, ""},
		{"a line that is not there", `<p id="clock">Now it is 10:0%d</p>`, `^Then$`, ""},
		{"a line that does not differ", `<p id="clock">Now it is 10:00<!-- %d --></p>`, `^Now it is [\d:]+$`, ""},
		{"two places in one line", `<p id="both"><i id="a">a1%[1]d</i> and <i id="b">b1%[1]d</i> make</p>`, `^a\d+ and b\d+ make$`, `{"drop":"#both"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var pages [][]byte
			for i := range 3 {
				pages = append(pages, []byte("<html><body>"+rest+fmt.Sprintf(tt.page, i)+"</body></html>"))
			}
			line := regexp.MustCompile(tt.line)
			got, ok := extract.Locate(pages, line.MatchString)
			if ok != (tt.want != "") || ok && got.String() != tt.want {
				t.Errorf("the step is %s, %t; want %q", got, ok, tt.want)
			}
			if _, ok := extract.Locate(pages[:2], line.MatchString); ok {
				t.Error("two pages are enough")
			}
		})
	}
}

func FuzzLocate(f *testing.F) {
	f.Add(`<p id="clock">Now it is 1</p>`, `<p id="clock">Now it is 2</p>`, "Now")
	f.Add(`<table><tr><td class="a b">x1<td>`, `<table><tr><td class="a b">x2`, "x")
	f.Fuzz(func(t *testing.T, a, b, word string) {
		step, ok := extract.Locate([][]byte{[]byte(a), []byte(b), []byte(a)}, func(l string) bool { return strings.Contains(l, word) })
		if ok && step.Name != "drop" {
			t.Errorf("the step is %s", step)
		}
	})
}
