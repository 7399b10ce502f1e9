// Package visual compares screenshots pixel by pixel.
package visual

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"

	"freshet/internal/freshet/rendering"
)

// A Difference is how two pictures differ.
type Difference struct {
	Share   float64               // of the compared pixels, how many changed
	Regions []rendering.Rectangle // where, from top to bottom

	before, after *image.NRGBA
	ignored       []image.Rectangle
}

// maxPixels is how large a picture can be to be compared.
const maxPixels = 50_000_000

// Compare compares two pictures in PNG, except in the rectangles to ignore. What only one of them
// has, because they differ in size, counts as changed. Pixels whose colours look the same are
// equal, and so are pixels that differ only in how an edge was smoothed.
func Compare(before, after []byte, ignore []rendering.Rectangle) (*Difference, error) {
	a, err := decode(before)
	if err != nil {
		return nil, fmt.Errorf("the older picture: %w", err)
	}
	b, err := decode(after)
	if err != nil {
		return nil, fmt.Errorf("the newer picture: %w", err)
	}
	d := &Difference{before: a, after: b}
	for _, r := range ignore {
		d.ignored = append(d.ignored, image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height))
	}
	bounds, m := d.bounds(), newMarks(d.bounds())
	compared := 0
	for y := range bounds.Dy() {
		spans := d.compared(y)
		for _, s := range spans {
			compared += s.Dx()
		}
		if d.sameRow(y) {
			continue
		}
		for _, s := range spans {
			for x := s.Min.X; x < s.Max.X; x++ {
				if d.differs(x, y) {
					m.mark(x, y)
				}
			}
		}
	}
	d.Share, d.Regions = float64(m.changed)/float64(max(compared, 1)), m.regions()
	return d, nil
}

// Memory returns how many bytes a comparison of two pictures takes at most, for what is no
// picture as well.
func Memory(before, after []byte) (size int64) {
	for _, text := range [][]byte{before, after} {
		if c, err := png.DecodeConfig(bytes.NewReader(text)); err == nil {
			size += 4 * int64(c.Width) * int64(c.Height)
		}
	}
	return size
}

// decode reads a picture that is not too large, on white where it is transparent.
func decode(text []byte) (*image.NRGBA, error) {
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
	switch p := p.(type) { // screenshots need no copy: without transparency both have the same bytes
	case *image.NRGBA:
		if p.Opaque() {
			return p, nil
		}
	case *image.RGBA:
		if p.Opaque() {
			return &image.NRGBA{Pix: p.Pix, Stride: p.Stride, Rect: p.Rect}, nil
		}
	}
	plain := image.NewNRGBA(image.Rect(0, 0, c.Width, c.Height))
	draw.Draw(plain, plain.Bounds(), image.White, image.Point{}, draw.Src)
	draw.Draw(plain, plain.Bounds(), p, p.Bounds().Min, draw.Over)
	return plain, nil
}

func (d *Difference) bounds() image.Rectangle { return d.before.Bounds().Union(d.after.Bounds()) }

// compared returns the parts of a row that are not ignored, from left to right.
func (d *Difference) compared(y int) []image.Rectangle {
	spans := []image.Rectangle{image.Rect(0, y, d.bounds().Dx(), y+1)}
	for _, hole := range d.ignored {
		var left []image.Rectangle
		for _, s := range spans {
			if !s.Overlaps(hole) {
				left = append(left, s)
				continue
			}
			for _, part := range []image.Rectangle{image.Rect(s.Min.X, y, max(hole.Min.X, s.Min.X), y+1), image.Rect(min(hole.Max.X, s.Max.X), y, s.Max.X, y+1)} {
				if !part.Empty() {
					left = append(left, part)
				}
			}
		}
		spans = left
	}
	return spans
}

// sameRow reports whether a row has the same bytes in both pictures, as most have.
func (d *Difference) sameRow(y int) bool {
	a, b := d.before, d.after
	if y >= a.Rect.Max.Y || y >= b.Rect.Max.Y || a.Rect.Dx() != b.Rect.Dx() {
		return false
	}
	i, j, n := a.PixOffset(0, y), b.PixOffset(0, y), 4*a.Rect.Dx()
	return bytes.Equal(a.Pix[i:i+n], b.Pix[j:j+n])
}

// differs reports whether two pictures look different at a pixel.
func (d *Difference) differs(x, y int) bool {
	a, b, at := d.before, d.after, image.Pt(x, y)
	if !at.In(a.Rect) || !at.In(b.Rect) {
		return true
	}
	return distance(pixel(a, x, y), pixel(b, x, y)) > tolerated && !smoothed(a, b, x, y) && !smoothed(b, a, x, y)
}
