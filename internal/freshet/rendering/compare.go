package rendering

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"freshet/internal/invalid"
)

// A Comparison is what two versions of a page are compared by.
type Comparison string

// What versions are compared by.
const (
	CompareText    Comparison = "" // the text that is read of the page
	ComparePicture Comparison = "picture"
)

// A Rectangle is a part of a picture in pixels.
type Rectangle struct {
	X      int `json:"x"`
	Y      int `json:"y"`
	Width  int `json:"width"`
	Height int `json:"height"`
}

// maxIgnored is how many parts of a picture can be ignored.
const maxIgnored = 50

// String returns the rectangle in the geometry of X, such as "300x250+10+20": width, height, and
// where its upper left corner is.
func (r Rectangle) String() string { return fmt.Sprintf("%dx%d+%d+%d", r.Width, r.Height, r.X, r.Y) }

// parseRectangle reads what String writes.
func parseRectangle(s string) (r Rectangle, ok bool) {
	parts := strings.FieldsFunc(s, func(c rune) bool { return c == 'x' || c == '+' })
	if len(parts) != 4 {
		return r, false
	}
	for i, to := range []*int{&r.Width, &r.Height, &r.X, &r.Y} {
		n, err := strconv.ParseUint(parts[i], 10, 16)
		if err != nil {
			return r, false
		}
		*to = int(n)
	}
	return r, r.String() == s
}

// Pictured reports whether a picture is kept with each version.
func (r Settings) Pictured() bool { return r.On && (r.Screenshot || r.Compare == ComparePicture) }

// Ignored returns what is ignored of a picture: selectors of elements, and rectangles.
func (r Settings) Ignored() (selectors []string, rectangles []Rectangle) {
	for _, part := range r.Ignore {
		if box, ok := parseRectangle(part); ok {
			rectangles = append(rectangles, box)
		} else {
			selectors = append(selectors, part)
		}
	}
	return selectors, rectangles
}

// checkComparison judges how pictures are compared.
func (r Settings) checkComparison() error {
	switch {
	case r.Compare != CompareText && r.Compare != ComparePicture:
		return invalid.Errorf("render.compare", "%.40q is not text or picture", r.Compare)
	case r.Compare == CompareText && (r.Region != "" || len(r.Ignore) > 0 || r.Threshold != 0):
		return invalid.Errorf("render.compare", "region, ignore and threshold need compare: picture")
	case !isSelector(r.Region) && r.Region != "":
		return invalid.Errorf("render.region", "is longer than %d bytes or not text", maxRenderText)
	case len(r.Ignore) > maxIgnored:
		return invalid.Errorf("render.ignore", "there are too many; the most is %d", maxIgnored)
	case r.Threshold < 0 || r.Threshold >= 1:
		return invalid.Errorf("render.threshold", "is not a share below 100%%, such as 1%%")
	}
	for _, part := range r.Ignore {
		if !isSelector(part) || part[0] >= '0' && part[0] <= '9' && !isRectangle(part) {
			return invalid.Errorf("render.ignore", "%.80q is neither a CSS selector nor a rectangle such as 300x250+10+20", part)
		}
	}
	return nil
}

func isRectangle(s string) bool {
	_, ok := parseRectangle(s)
	return ok
}

func isSelector(s string) bool {
	return s != "" && len(s) <= maxRenderText && utf8.ValidString(s) && !strings.ContainsRune(s, 0)
}
