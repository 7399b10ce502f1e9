package browser_test

import (
	"bytes"
	"fmt"
	"image/png"
	"testing"
	"time"

	"freshet/internal/extract/visual"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/rendering"
)

// A page has a clock that ticks, an advertisement that is another each time, something that moves,
// and a map with a price.
func board(price, ad string) string {
	return fmt.Sprintf(`<!doctype html><title>Board</title><style>
body { margin: 0; font: 14px sans-serif } #map { margin: 40px; width: 300px; height: 200px; background: #dfd; padding: 10px }
.spins { width: 20px; height: 20px; background: navy; animation: turn 1s linear infinite } @keyframes turn { to { transform: rotate(1turn) } }
.ad { background: %s; height: 60px }</style>
<input autofocus><div class=spins></div><div class=ad>Buy</div><div id=map>A price of <b>%s</b> euros</div>
<p id=clock></p><script>clock.textContent = performance.now() + " " + Math.random()</script>`, ad, price)
}

// compare renders two pages and compares their pictures.
func (g *rig) compare(how rendering.Settings, before, after string) *visual.Difference {
	g.Helper()
	var pictures [2][]byte
	for i, page := range []string{before, after} {
		g.PutHTML("/board", page)
		pictures[i] = g.mustRender("/board", how).Picture
	}
	_, ignored := how.Ignored()
	d, err := visual.Compare(pictures[0], pictures[1], ignored)
	if err != nil {
		g.Fatal(err)
	}
	return d
}

func TestPicturesThatAreCompared(t *testing.T) {
	g := newRig(t)
	how := rendering.Settings{On: true, Compare: rendering.ComparePicture, Viewport: rendering.Viewport{Width: 800, Height: 600}, Ignore: []string{".ad", "#clock"}}
	if d := g.compare(how, board("12.00", "red"), board("12.00", "blue")); len(d.Regions) > 0 {
		t.Errorf("a page on which only what is ignored has changed differs in %v", d.Regions)
	}
	d := g.compare(how, board("12.00", "red"), board("12.90", "red"))
	if len(d.Regions) != 1 || d.Regions[0].Width > 30 || d.Regions[0].Height > 20 {
		t.Errorf("a page with another digit differs in %v, want one place of its size", d.Regions)
	}
	how.Ignore = []string{"#clock", "800x60+0+0"}
	if d := g.compare(how, board("12.00", "red"), board("12.00", "blue")); len(d.Regions) != 1 || d.Regions[0].Y < 60 {
		t.Errorf("a page of which the first 60 lines are ignored differs in %v", d.Regions)
	}
	how.Ignore, how.Region = nil, "#map"
	if d := g.compare(how, board("12.00", "red"), board("12.00", "blue")); len(d.Regions) > 0 {
		t.Errorf("a map that has not changed differs in %v", d.Regions)
	}
	v := g.mustRender("/board", how)
	if c, err := png.DecodeConfig(bytes.NewReader(v.Picture)); err != nil || c.Width != 320 || c.Height != 220 {
		t.Errorf("the picture of a map of 320x220 is %dx%d: %v", c.Width, c.Height, err)
	}
	g.wantBody(v, "Buy", "A price of")
	how.Region, how.Wait = ".ad span", time.Second
	_, err := g.render("/board", how)
	wantClass(t, err, failure.RenderStep)
	g.PutHTML("/board", `<div id=hidden style="display:none">x</div>`)
	how.Region = "#hidden"
	_, err = g.render("/board", how)
	wantClass(t, err, failure.RenderStep)
}
