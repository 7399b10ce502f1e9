package visual_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"testing"

	"freshet/internal/extract/visual"
	"freshet/internal/freshet/rendering"
)

// painted returns a white picture with black boxes.
func painted(t *testing.T, w, h int, boxes ...image.Rectangle) []byte {
	t.Helper()
	p := image.NewRGBA(image.Rect(0, 0, w, h))
	draw.Draw(p, p.Bounds(), image.White, image.Point{}, draw.Src)
	for _, b := range boxes {
		draw.Draw(p, b, image.Black, image.Point{}, draw.Src)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCompare(t *testing.T) {
	box, far := image.Rect(10, 10, 30, 20), image.Rect(150, 160, 160, 170)
	tests := []struct {
		name          string
		before, after []byte
		share         float64
		regions       []rendering.Rectangle
	}{
		{"the same", painted(t, 200, 200, box), painted(t, 200, 200, box), 0, nil},
		{"a box comes", painted(t, 200, 200), painted(t, 200, 200, box), 200.0 / 40000, []rendering.Rectangle{{X: 10, Y: 10, Width: 20, Height: 10}}},
		{"two boxes, far apart", painted(t, 200, 200, box), painted(t, 200, 200, far), 300.0 / 40000, []rendering.Rectangle{{X: 10, Y: 10, Width: 20, Height: 10}, {X: 150, Y: 160, Width: 10, Height: 10}}},
		{"the page grows", painted(t, 200, 100), painted(t, 200, 200), 0.5, []rendering.Rectangle{{X: 0, Y: 100, Width: 200, Height: 100}}},
	}
	for _, tt := range tests {
		d, err := visual.Compare(tt.before, tt.after, nil)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if math.Abs(d.Share-tt.share) > 1e-9 || len(d.Regions) != len(tt.regions) {
			t.Errorf("%s: %v of the pixels changed in %v, want %v in %v", tt.name, d.Share, d.Regions, tt.share, tt.regions)
			continue
		}
		marked, err := d.Picture()
		if err != nil {
			t.Fatal(err)
		}
		shown, err := png.Decode(bytes.NewReader(marked))
		if err != nil {
			t.Fatal(err)
		}
		for i, r := range d.Regions {
			if r != tt.regions[i] {
				t.Errorf("%s: the region is %v, want %v", tt.name, r, tt.regions[i])
			}
			if c := color.NRGBAModel.Convert(shown.At(r.X+r.Width/2, r.Y+r.Height/2)).(color.NRGBA); c.R < 120 || c.G > c.R/2+10 && c.G > 130 {
				t.Errorf("%s: what changed is shown as %v, which is not red", tt.name, c)
			}
		}
	}
}

// FuzzCompare gives it pictures that are none: it returns an error or a picture, within
// bounds.
func FuzzCompare(f *testing.F) {
	var small bytes.Buffer
	if err := png.Encode(&small, image.NewGray(image.Rect(0, 0, 3, 3))); err != nil {
		f.Fatal(err)
	}
	f.Add(small.Bytes(), small.Bytes())
	// A header that promises a picture of a terabyte.
	huge := bytes.Clone(small.Bytes())
	copy(huge[16:], []byte{0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff})
	f.Add(small.Bytes(), huge)
	f.Add([]byte("no picture"), small.Bytes())
	f.Fuzz(func(t *testing.T, a, b []byte) {
		d, err := visual.Compare(a, b, nil)
		if err == nil && (d.Share < 0 || d.Share > 1) {
			t.Errorf("%v of the pixels changed", d.Share)
		}
	})
}

// encoded encodes a picture.
func encoded(t testing.TB, p image.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, p); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// edge returns a white picture with a black half below a sloping edge, whose pixels have the share
// of black that the edge covers, moved by a part of a pixel.
func edge(moved float64) *image.NRGBA {
	p := image.NewNRGBA(image.Rect(0, 0, 100, 100))
	for y := range 100 {
		for x := range 100 {
			covered := min(max(float64(y)+1-(20.3+moved+0.37*float64(x)), 0), 1)
			v := uint8(255 * (1 - covered))
			p.SetNRGBA(x, y, color.NRGBA{v, v, v, 255})
		}
	}
	return p
}

func TestCompareToleratesSmoothing(t *testing.T) {
	d, err := visual.Compare(encoded(t, edge(0)), encoded(t, edge(0.3)), nil)
	if err != nil || len(d.Regions) > 0 {
		t.Errorf("an edge that is smoothed differently differs in %v: %v", d.Regions, err)
	}
	if d, err = visual.Compare(encoded(t, edge(0)), encoded(t, edge(3)), nil); err != nil || d.Share < 0.02 || d.Share > 0.04 {
		t.Errorf("an edge that moved by three pixels of a hundred differs by %v: %v", d.Share, err)
	}
	pale, other := edge(0), edge(0)
	for x := range 50 {
		other.SetNRGBA(x, 2, color.NRGBA{250, 255, 250, 255})
	}
	if d, err = visual.Compare(encoded(t, pale), encoded(t, other), nil); err != nil || d.Share != 0 {
		t.Errorf("colours that look the same differ by %v: %v", d.Share, err)
	}
	for x := range 50 {
		other.SetNRGBA(x, 2, color.NRGBA{255, 190, 190, 255})
	}
	if d, err = visual.Compare(encoded(t, pale), encoded(t, other), nil); err != nil || d.Share != 0.005 {
		t.Errorf("a line of another colour differs by %v, want 0.005: %v", d.Share, err)
	}
}

func TestCompareIgnores(t *testing.T) {
	before := painted(t, 200, 200)
	after := painted(t, 200, 200, image.Rect(10, 10, 30, 20), image.Rect(100, 150, 110, 160))
	for _, tt := range []struct {
		ignore  []rendering.Rectangle
		share   float64
		regions int
	}{
		{nil, 300.0 / 40000, 2},
		{[]rendering.Rectangle{{X: 10, Y: 10, Width: 20, Height: 10}}, 100.0 / (40000 - 200), 1},
		{[]rendering.Rectangle{{X: 0, Y: 0, Width: 200, Height: 155}, {X: 5, Y: 0, Width: 10, Height: 10}}, 50.0 / (200 * 45), 1},
		{[]rendering.Rectangle{{X: 0, Y: 5, Width: 15, Height: 50}, {X: 12, Y: 5, Width: 500, Height: 50}, {X: 100, Y: 150, Width: 10, Height: 10}}, 0, 0},
		{[]rendering.Rectangle{{X: 0, Y: 0, Width: 200, Height: 200}}, 0, 0},
	} {
		d, err := visual.Compare(before, after, tt.ignore)
		if err != nil || math.Abs(d.Share-tt.share) > 1e-9 || len(d.Regions) != tt.regions {
			t.Errorf("without %v, %v differs in %v, want %v in %d places: %v", tt.ignore, d.Share, d.Regions, tt.share, tt.regions, err)
		}
	}
	d, err := visual.Compare(before, after, []rendering.Rectangle{{X: 10, Y: 10, Width: 20, Height: 10}})
	if err != nil {
		t.Fatal(err)
	}
	part, err := d.Part()
	if err != nil {
		t.Fatal(err)
	}
	if c, err := png.DecodeConfig(bytes.NewReader(part)); err != nil || c.Width != 90 || c.Height != 90 {
		t.Errorf("the part that differs is shown in %dx%d pixels, want 90x90: %v", c.Width, c.Height, err)
	}
}

// Transparent pixels look like white ones.
func TestCompareTransparent(t *testing.T) {
	if d, err := visual.Compare(encoded(t, image.NewNRGBA(image.Rect(0, 0, 50, 50))), painted(t, 50, 50), nil); err != nil || d.Share != 0 {
		t.Errorf("a transparent picture and a white one differ by %v: %v", d.Share, err)
	}
}

// BenchmarkCompare compares two screenshots of a long page, of which a tenth differs.
func BenchmarkCompare(b *testing.B) {
	page := func(seed uint32) []byte {
		p := image.NewNRGBA(image.Rect(0, 0, 1280, 5000))
		draw.Draw(p, p.Bounds(), image.White, image.Point{}, draw.Src)
		for y := range 5000 {
			at := uint32(y/20) * 7919
			if y/20%10 == 0 {
				at += seed
			}
			for x := range 1280 {
				if at = at*1664525 + 1013904223; y%20 < 12 && at>>28 < 4 {
					p.SetNRGBA(x, y, color.NRGBA{uint8(at >> 20), uint8(at >> 20), uint8(at >> 20), 255})
				}
			}
		}
		return encoded(b, p)
	}
	old, same, other := page(1), page(1), page(2)
	for name, after := range map[string][]byte{"same": same, "other": other} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := visual.Compare(old, after, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
