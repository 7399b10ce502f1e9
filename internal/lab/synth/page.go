package synth

import (
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
)

// A Page is one address of the web.
type Page struct {
	ID   freshet.SourceID
	Host string // the virtual host it lives on, such as "news"
	Path string // unique in the web; "" means "/" and the ID
	Name string // its title; "" means the ID
	Tags []string

	Form     Form
	Listing  Listing // of a Sitemap
	Noise    Noise
	Recipe   reading.Recipe // with which it should be watched
	Schedule Schedule       // nil means Never

	ETag         bool // it gives an ETag and honours If-None-Match
	LastModified bool // it gives Last-Modified and honours If-Modified-Since
	Gzip         bool // it is compressed for those who accept that
	Trouble      Trouble
}

// A Form is what a page looks like.
type Form uint8

// The forms of pages.
const (
	News     Form = iota // HTML: headlines, the newest first
	Status               // HTML: services and how they are
	Prices               // HTML: a table of goods
	RSS                  // a feed of the latest items
	Atom                 // likewise
	API                  // JSON: readings
	Bulletin             // plain text
	Sitemap              // a list of the other pages of its host, which has no schedule of its own
)

// Noise is what differs from one response to the next although the page has
// not changed.
type Noise uint8

// The kinds of noise.
const (
	Silent  Noise = iota // none
	Hidden               // nonces and tokens that no reader sees
	Visible              // a clock outside the part that matters
)

// A Trouble is a spell in which a page answers with an error. The zero Trouble
// never comes.
type Trouble struct {
	Status     int           // such as 404; zero means no trouble
	From       time.Duration // when it first comes, from the start
	For        time.Duration // how long it lasts; zero means for ever
	Every      time.Duration // how often it comes; zero means once
	RetryAfter time.Duration // what it asks of the client, in whole seconds; zero means nothing
}

// at reports whether the trouble is there at a time since the start.
func (t Trouble) at(since time.Duration) bool {
	if t.Status == 0 || since < t.From {
		return false
	}
	into := since - t.From
	if t.Every > 0 {
		into %= t.Every
	}
	return t.For == 0 || into < t.For
}
