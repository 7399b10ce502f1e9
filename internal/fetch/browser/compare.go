package browser

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
)

// A Difference is how two pictures of a page differ.
type Difference struct {
	Share   float64  // of all pixels, how many changed
	Regions []Region // where, from top to bottom
	Picture []byte   // PNG: the new picture, faded, with what changed in red
}

// A Region is a part of a picture in pixels.
type Region struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

const (
	// maxPixels is how large a picture can be to be compared.
	maxPixels = 50_000_000

	// cell is the side of the squares by which what changed is gathered into regions.
	cell = 16

	// tolerance is by how much a colour may differ and still look the same.
	tolerance = 12

	// maxRegions is how many regions are reported.
	maxRegions = 1000
)

// Compare compares two pictures in PNG, pixel by pixel. If they differ in size, what
// only one of them has counts as changed.
func Compare(before, after []byte) (Difference, error) {
	a, err := decodePicture(before)
	if err != nil {
		return Difference{}, fmt.Errorf("the older picture: %w", err)
	}
	b, err := decodePicture(after)
	if err != nil {
		return Difference{}, fmt.Errorf("the newer picture: %w", err)
	}
	bounds := a.Bounds().Union(b.Bounds())
	m := newMarks(bounds)
	shown := image.NewNRGBA(bounds)
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			now := color.NRGBA{255, 255, 255, 255}
			if image.Pt(x, y).In(b.Bounds()) {
				now = b.NRGBAAt(x, y)
			}
			if alike(a, b, x, y) {
				shown.SetNRGBA(x, y, faded(now))
				continue
			}
			m.mark(x, y)
			shown.SetNRGBA(x, y, reddened(now))
		}
	}
	d := Difference{Share: float64(m.changed) / float64(max(bounds.Dx()*bounds.Dy(), 1)), Regions: m.regions()}
	for _, r := range d.Regions {
		frame(shown, r)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, shown); err != nil {
		return Difference{}, fmt.Errorf("write the marked picture: %w", err)
	}
	d.Picture = out.Bytes()
	return d, nil
}

// decodePicture reads a picture that is not too large.
func decodePicture(text []byte) (*image.NRGBA, error) {
	c, err := png.DecodeConfig(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("is no PNG: %w", err)
	}
	if c.Width <= 0 || c.Height <= 0 || c.Width > maxPixels/c.Height {
		return nil, errors.New("is too large to compare")
	}
	p, err := png.Decode(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("cannot be decoded: %w", err)
	}
	plain, ok := p.(*image.NRGBA)
	if !ok || plain.Bounds().Min != (image.Point{}) {
		plain = image.NewNRGBA(image.Rect(0, 0, c.Width, c.Height))
		draw.Draw(plain, plain.Bounds(), p, p.Bounds().Min, draw.Src)
	}
	return plain, nil
}

// alike reports whether two pictures look the same at a pixel.
func alike(a, b *image.NRGBA, x, y int) bool {
	at := image.Pt(x, y)
	if !at.In(a.Bounds()) || !at.In(b.Bounds()) {
		return false
	}
	i, j := a.PixOffset(x, y), b.PixOffset(x, y)
	for k := range 4 {
		if d := int(a.Pix[i+k]) - int(b.Pix[j+k]); d > tolerance || d < -tolerance {
			return false
		}
	}
	return true
}

func faded(c color.NRGBA) color.NRGBA {
	pale := func(v uint8) uint8 { return uint8(150 + int(v)*105/255) }
	return color.NRGBA{pale(c.R), pale(c.G), pale(c.B), 255}
}

func reddened(c color.NRGBA) color.NRGBA {
	return color.NRGBA{uint8(128 + int(c.R)/2), c.G / 2, c.B / 2, 255}
}

// frame draws a red line around a region.
func frame(on *image.NRGBA, r Region) {
	red := color.NRGBA{220, 0, 0, 255}
	box := image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height).Inset(-2).Intersect(on.Bounds())
	for x := box.Min.X; x < box.Max.X; x++ {
		on.SetNRGBA(x, box.Min.Y, red)
		on.SetNRGBA(x, box.Max.Y-1, red)
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		on.SetNRGBA(box.Min.X, y, red)
		on.SetNRGBA(box.Max.X-1, y, red)
	}
}

// marks are the squares of a picture in which something changed.
type marks struct {
	wide, high int // in squares
	boxes      []image.Rectangle
	changed    int // pixels
}

func newMarks(bounds image.Rectangle) *marks {
	m := &marks{wide: (bounds.Dx() + cell - 1) / cell, high: (bounds.Dy() + cell - 1) / cell}
	m.boxes = make([]image.Rectangle, m.wide*m.high)
	return m
}

// mark notes that a pixel changed.
func (m *marks) mark(x, y int) {
	m.changed++
	i := y/cell*m.wide + x/cell
	m.boxes[i] = m.boxes[i].Union(image.Rect(x, y, x+1, y+1))
}

// regions gathers squares that touch, and returns what of them changed.
func (m *marks) regions() (found []Region) {
	done := make([]bool, len(m.boxes))
	for i := range m.boxes {
		if done[i] || m.boxes[i].Empty() || len(found) == maxRegions {
			continue
		}
		box, next := image.Rectangle{}, []int{i}
		done[i] = true
		for len(next) > 0 {
			at := next[len(next)-1]
			next = next[:len(next)-1]
			box = box.Union(m.boxes[at])
			for _, n := range m.around(at) {
				if !done[n] && !m.boxes[n].Empty() {
					done[n] = true
					next = append(next, n)
				}
			}
		}
		found = append(found, Region{X: box.Min.X, Y: box.Min.Y, Width: box.Dx(), Height: box.Dy()})
	}
	return found
}

// around returns the squares next to one, also over its corners.
func (m *marks) around(i int) (all []int) {
	x, y := i%m.wide, i/m.wide
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			if nx, ny := x+dx, y+dy; nx >= 0 && nx < m.wide && ny >= 0 && ny < m.high {
				all = append(all, ny*m.wide+nx)
			}
		}
	}
	return all
}
