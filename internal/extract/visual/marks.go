package visual

import (
	"image"

	"freshet/internal/freshet/rendering"
)

const (
	// cell is the side of the squares by which what changed is gathered into regions.
	cell = 16

	// maxRegions is how many regions are reported.
	maxRegions = 1000
)

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
func (m *marks) regions() (found []rendering.Rectangle) {
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
		found = append(found, rendering.Rectangle{X: box.Min.X, Y: box.Min.Y, Width: box.Dx(), Height: box.Dy()})
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
