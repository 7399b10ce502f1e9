package store

import (
	"crypto/rand"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"freshet/internal/freshet"
	"freshet/internal/mask"
)

// longestSlug is how long an ID made of a URL is at most.
const longestSlug = 40

// newID returns an ID that is not taken, made of the host and the name or path of a source:
// example-com-prices, then example-com-prices-2. Pages of sites, of which there can be millions, have
// short random ones.
func newID(src freshet.Source, taken func(freshet.SourceID) bool) freshet.SourceID {
	slug := ""
	if src.Of == "" {
		slug = slugOf(src)
	}
	if slug == "" {
		slug = randomWord()
	}
	for n := 1; ; n++ {
		id := slug
		switch {
		case n > 9: // there may be a million of them
			id += "-" + randomWord()
		case n > 1:
			id += "-" + strconv.Itoa(n)
		}
		if !taken(freshet.SourceID(id)) {
			return freshet.SourceID(id)
		}
	}
}

// randomWord returns a word that nobody has chosen.
func randomWord() string { return strings.ToLower(rand.Text()[:10]) }

// slugOf returns what a source is called in an ID. An ID outlives a purge and stands in logs, so
// what may be a secret in the URL is not part of it.
func slugOf(src freshet.Source) string {
	u, err := url.Parse(mask.URL(src.URL))
	if err != nil {
		return ""
	}
	host := slugged(strings.TrimPrefix(u.Hostname(), "www."))
	if host == "" {
		host = slugged(u.Scheme + " " + u.Opaque)
	}
	rest := slugged(src.Name)
	if rest == "" {
		segments := strings.Split(strings.TrimSuffix(u.Path, ".html"), "/")
		rest = slugged(strings.Join(slices.DeleteFunc(segments, mayBeSecret), "/"))
	}
	slug := strings.Trim(host+"-"+rest, "-")
	if len(slug) > longestSlug {
		slug = slug[:longestSlug]
		if i := strings.LastIndexByte(slug, '-'); i > len(host) { // whole words
			slug = slug[:i]
		}
	}
	return strings.Trim(slug, "-")
}

// mayBeSecret reports whether a segment of a path has a word that looks random: a long one, or one of
// letters and digits.
func mayBeSecret(segment string) bool {
	for word := range strings.FieldsFuncSeq(segment, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		mixed := strings.ContainsFunc(word, unicode.IsLetter) && strings.ContainsFunc(word, unicode.IsDigit)
		if len(word) > 20 || mixed && len(word) >= 8 {
			return true
		}
	}
	return false
}

// slugged returns the letters and digits of a text in lower case, with a dash between runs of them.
func slugged(text string) string {
	var b strings.Builder
	gap := false
	for _, r := range strings.ToLower(text) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			if gap && b.Len() > 0 {
				b.WriteByte('-')
			}
			b.WriteRune(r)
			gap = false
		default:
			gap = true
		}
	}
	return b.String()
}
