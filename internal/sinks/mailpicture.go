package sinks

import (
	"fmt"
	"html"
)

// Bounds on the pictures in an e-mail. The link shows those that are left out.
const (
	mostPictures     = 10
	mostPictureBytes = 2 << 20 // together
)

// pictures returns what changed in the pictures of an event or, if it is a digest, of its first
// entries, by their names in the e-mail.
func (o *Outlet) pictures(e *Event) (map[string][]byte, error) {
	if o.cfg.Difference == nil {
		return nil, nil
	}
	of, left := e.Entries, mostPictureBytes
	if len(of) == 0 {
		of = []*Event{e}
	}
	found := map[string][]byte{}
	for _, one := range of {
		if one.Picture == nil || len(found) == mostPictures {
			continue
		}
		picture, err := o.cfg.Difference(e.ctx, one.change)
		if err != nil {
			return nil, err
		}
		if len(picture) > 0 && len(picture) <= left {
			left -= len(picture)
			found[one.pictureName()] = picture
		}
	}
	return found, nil
}

// pictureName returns what the picture of an event is called in an e-mail.
func (e *Event) pictureName() string { return fmt.Sprintf("%s-%d.png", e.Source, e.Number) }

// pictureHTML returns the picture of an event, if it is in the e-mail.
func pictureHTML(pictures map[string][]byte, e *Event) string {
	if pictures[e.pictureName()] == nil {
		return ""
	}
	name := html.EscapeString(e.pictureName())
	return fmt.Sprintf("<p><img src=\"cid:%s\" alt=\"what changed, in red\" style=\"max-width:100%%\"></p>\n", name)
}
