package importer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/lazyregexp"
)

// timeMapLink matches a link of a TimeMap (RFC 7089): its target and its attributes.
var timeMapLink = lazyregexp.New(`<([^<>]*)>((?:\s*;\s*\w+\s*=\s*(?:"[^"]*"|[^\s;,"]+))*)`)

// linkAttribute matches an attribute of a link.
var linkAttribute = lazyregexp.New(`;\s*(\w+)\s*=\s*(?:"([^"]*)"|([^\s;,"]+))`)

// mostMementos is how many versions of a TimeMap are imported, the newest.
const mostMementos = 1000

// A memento is a version of a page in an archive.
type memento struct {
	url string
	at  time.Time
}

// readTimeMap returns the page of a TimeMap and its versions, the oldest first. Older says where the
// TimeMap of other versions is, if there is one.
func readTimeMap(text string) (page string, all []memento, older string) {
	for _, link := range timeMapLink.FindAllStringSubmatch(text, -1) {
		at := map[string]string{}
		for _, a := range linkAttribute.FindAllStringSubmatch(link[2], -1) {
			at[strings.ToLower(a[1])] = a[2] + a[3]
		}
		rels := strings.Fields(strings.ToLower(at["rel"]))
		date, err := http.ParseTime(at["datetime"])
		switch {
		case slices.Contains(rels, "original"):
			page = link[1]
		case slices.Contains(rels, "memento") && err == nil:
			all = append(all, memento{asCaptured(link[1]), date})
		case slices.Contains(rels, "timemap"):
			older = link[1]
		}
	}
	slices.SortStableFunc(all, func(a, b memento) int { return a.at.Compare(b.at) })
	return page, all, older
}

// asCaptured returns where the Wayback Machine has a page as it was captured. Otherwise it adds a bar
// and leads links to itself.
func asCaptured(memento string) string {
	before, rest, ok := strings.Cut(memento, "//web.archive.org/web/")
	date, page, _ := strings.Cut(rest, "/")
	if !ok || strings.Trim(date, "0123456789") != "" {
		return memento
	}
	return before + "//web.archive.org/web/" + date + "id_/" + page
}

// eachOriginal reads a TimeMap: its page is an entry.
func eachOriginal(text string, _ Options, yield func(Entry)) error {
	page, all, older := readTimeMap(text)
	if page == "" {
		return errors.New("this is not a TimeMap: no link has rel=\"original\"")
	}
	e := Entry{Path: page, Source: client.NewSource{URL: complete(page)}}
	if len(all) > mostMementos {
		e.notef("%d of %d versions are not imported: the newest %d are", len(all)-mostMementos, len(all), mostMementos)
	}
	if older != "" {
		e.notef("the versions in %s are not imported: import it first, as it has the older ones", older)
	}
	yield(e)
	return nil
}

// A Fetch fetches a document as a poll of a daemon does.
type Fetch func(ctx context.Context, url string) (client.Document, error)

// TimeMapHistory returns the versions of a TimeMap.
func TimeMapHistory(text string, fetch Fetch) History {
	return func(ctx context.Context, _ Entry, after time.Time, yield func(Snapshot) error) error {
		_, all, _ := readTimeMap(text)
		for _, m := range all[max(0, len(all)-mostMementos):] {
			if !m.at.After(after) {
				continue
			}
			d, err := fetch(ctx, m.url)
			if err != nil {
				return fmt.Errorf("the version of %s: %w", m.at.UTC().Format(time.DateTime), err)
			}
			if err := yield(Snapshot{At: m.at, Body: d.Body, MediaType: d.MediaType}); err != nil {
				return err
			}
		}
		return nil
	}
}
