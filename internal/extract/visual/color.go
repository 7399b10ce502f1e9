package visual

import (
	"image"
)

// pixel returns the colour at a place as red, green and blue.
func pixel(p *image.NRGBA, x, y int) [3]uint8 {
	i := p.PixOffset(x, y)
	return [3]uint8(p.Pix[i : i+3])
}

// tolerated is how far apart two colours can be and still look the same: as far as two greys of
// which one is 12 of 255 lighter.
const tolerated = 0.5053 * 12 * 12

// distance returns how different two colours look: the square of their distance in the YIQ colour
// space, weighted as in Kotsarenko and Ramos, "Measuring perceived color difference using YIQ NTSC
// transmission color space in mobile applications" (2010).
func distance(a, b [3]uint8) float64 {
	if a == b {
		return 0
	}
	red, green, blue := float64(a[0])-float64(b[0]), float64(a[1])-float64(b[1]), float64(a[2])-float64(b[2])
	y := 0.29889531*red + 0.58662247*green + 0.11448223*blue
	i := 0.59597799*red - 0.27417610*green - 0.32180189*blue
	q := 0.21147017*red - 0.52261711*green + 0.31114694*blue
	return 0.5053*y*y + 0.299*i*i + 0.1957*q*q
}

// brightness returns the luma of a colour.
func brightness(c [3]uint8) float64 {
	return 0.29889531*float64(c[0]) + 0.58662247*float64(c[1]) + 0.11448223*float64(c[2])
}

// smoothed reports whether a pixel of p is part of a smoothed edge: a step between a darker and a
// lighter neighbour, of which one belongs to an area of one colour in both pictures. After
// Vyšniauskas, "Anti-aliased Pixel and Intensity Slope Detector" (2009).
func smoothed(p, other *image.NRGBA, x, y int) bool {
	own, same := pixel(p, x, y), 0
	light := brightness(own)
	var darkest, lightest image.Point
	lowest, highest := 0.0, 0.0
	for at := range neighbours(p, x, y) {
		c := pixel(p, at.X, at.Y)
		if c == own {
			if same++; same > 2 {
				return false
			}
			continue
		}
		switch step := brightness(c) - light; {
		case step < lowest:
			lowest, darkest = step, at
		case step > highest:
			highest, lightest = step, at
		}
	}
	if lowest == 0 || highest == 0 {
		return false
	}
	return inArea(p, darkest) && inArea(other, darkest) || inArea(p, lightest) && inArea(other, lightest)
}

// inArea reports whether a pixel has at least three neighbours of its colour.
func inArea(p *image.NRGBA, at image.Point) bool {
	if !at.In(p.Rect) {
		return false
	}
	own, same := pixel(p, at.X, at.Y), 0
	for n := range neighbours(p, at.X, at.Y) {
		if pixel(p, n.X, n.Y) == own {
			same++
		}
	}
	return same >= 3
}

// neighbours yields the pixels around a place, as far as the picture has them.
func neighbours(p *image.NRGBA, x, y int) func(func(image.Point) bool) {
	return func(yield func(image.Point) bool) {
		for ny := max(y-1, 0); ny <= min(y+1, p.Rect.Max.Y-1); ny++ {
			for nx := max(x-1, 0); nx <= min(x+1, p.Rect.Max.X-1); nx++ {
				if (nx != x || ny != y) && !yield(image.Pt(nx, ny)) {
					return
				}
			}
		}
	}
}
