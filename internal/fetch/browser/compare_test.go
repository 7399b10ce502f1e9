package browser_test

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"math"
	"testing"

	"freshet/internal/fetch/browser"
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
		regions       []browser.Region
	}{
		{"the same", painted(t, 200, 200, box), painted(t, 200, 200, box), 0, nil},
		{"a box comes", painted(t, 200, 200), painted(t, 200, 200, box), 200.0 / 40000, []browser.Region{{10, 10, 20, 10}}},
		{"two boxes, far apart", painted(t, 200, 200, box), painted(t, 200, 200, far), 300.0 / 40000, []browser.Region{{10, 10, 20, 10}, {150, 160, 10, 10}}},
		{"the page grows", painted(t, 200, 100), painted(t, 200, 200), 0.5, []browser.Region{{0, 100, 200, 100}}},
	}
	for _, tt := range tests {
		d, err := browser.Compare(tt.before, tt.after)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if math.Abs(d.Share-tt.share) > 1e-9 || len(d.Regions) != len(tt.regions) {
			t.Errorf("%s: %v of the pixels changed in %v, want %v in %v", tt.name, d.Share, d.Regions, tt.share, tt.regions)
			continue
		}
		shown, err := png.Decode(bytes.NewReader(d.Picture))
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
		d, err := browser.Compare(a, b)
		if err == nil && (d.Share < 0 || d.Share > 1) {
			t.Errorf("%v of the pixels changed", d.Share)
		}
	})
}
