package visual

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
)

// around is how many pixels Part shows around what changed.
const around = 40

// Picture returns the newer picture in PNG: faded, with what changed in red, and grey where
// differences are ignored.
func (d *Difference) Picture() ([]byte, error) { return d.draw(d.bounds()) }

// Part returns as much of Picture as has what changed.
func (d *Difference) Part() ([]byte, error) {
	var changed image.Rectangle
	for _, r := range d.Regions {
		changed = changed.Union(image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height))
	}
	return d.draw(changed.Inset(-around).Intersect(d.bounds()))
}

func (d *Difference) draw(part image.Rectangle) ([]byte, error) {
	shown := image.NewNRGBA(part)
	for y := part.Min.Y; y < part.Max.Y; y++ {
		same := d.sameRow(y)
		for x := part.Min.X; x < part.Max.X; x++ {
			shown.SetNRGBA(x, y, d.shade(x, y, same))
		}
	}
	for _, r := range d.Regions {
		frame(shown, image.Rect(r.X, r.Y, r.X+r.Width, r.Y+r.Height).Inset(-2))
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestSpeed}).Encode(&out, shown); err != nil {
		return nil, fmt.Errorf("write the marked picture: %w", err)
	}
	return out.Bytes(), nil
}

// shade returns the colour of a pixel in the marked picture.
func (d *Difference) shade(x, y int, same bool) color.NRGBA {
	at := image.Pt(x, y)
	for _, hole := range d.ignored {
		if at.In(hole) {
			return color.NRGBA{200, 200, 200, 255}
		}
	}
	now := [3]uint8{255, 255, 255}
	if at.In(d.after.Rect) {
		now = pixel(d.after, x, y)
	}
	if same || !d.differs(x, y) {
		pale := func(v uint8) uint8 { return uint8(150 + int(v)*105/255) }
		return color.NRGBA{pale(now[0]), pale(now[1]), pale(now[2]), 255}
	}
	return color.NRGBA{uint8(128 + int(now[0])/2), now[1] / 2, now[2] / 2, 255}
}

// frame draws a red line around a box.
func frame(on *image.NRGBA, box image.Rectangle) {
	red := color.NRGBA{220, 0, 0, 255}
	box = box.Intersect(on.Bounds())
	for x := box.Min.X; x < box.Max.X; x++ {
		on.SetNRGBA(x, box.Min.Y, red)
		on.SetNRGBA(x, box.Max.Y-1, red)
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		on.SetNRGBA(box.Min.X, y, red)
		on.SetNRGBA(box.Max.X-1, y, red)
	}
}
