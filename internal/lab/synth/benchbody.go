package synth

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A benchFormat is how bodies of one kind are written: a head, items with something between them, and a tail.
type benchFormat struct {
	head, between, tail string
	item                func(i int, chance *rand.Rand) string
}

// body returns a body of a size. From one n to the next a few of its items are replaced and the rest stays.
func (f benchFormat) body(n, size int) []byte {
	const sections = 12 // of which one changes with each n
	var b bytes.Buffer
	b.WriteString(f.head)
	for i := 0; ; i++ {
		item := f.item(i, rand.New(rand.NewPCG(uint64(i), uint64(touched(n, i%sections, sections)))))
		if i > 0 {
			item = f.between + item
		}
		if b.Len()+len(item)+len(f.tail) > size {
			break
		}
		b.WriteString(item)
	}
	for b.Len()+len(f.tail) < size {
		b.WriteByte('\n')
	}
	b.WriteString(f.tail)
	return b.Bytes()
}

// storyName returns the name of a story in URLs.
func storyName(chance *rand.Rand) string { return strconv.FormatUint(chance.Uint64()>>40, 36) }

// benchPage is a page of about as much markup and text as a real one.
func benchPage() benchFormat {
	return benchFormat{
		head: "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Page " + pageSlot + "</title></head>\n<body>\n<nav class=\"top\">" +
			benchLinks() + "</nav>\n<main>\n<h1>Page " + pageSlot + "</h1>\n<p>edition " + versionSlot + "</p>\n",
		tail: "</main>\n</body></html>\n",
		item: func(i int, chance *rand.Rand) string {
			return fmt.Sprintf("<article class=\"card\" id=\"a%d\"><h2><a href=\"/story/%s\">%s</a></h2><p>%s %s</p></article>\n",
				i, storyName(chance), headline(chance), sentence(chance), sentence(chance))
		},
	}
}

// benchLinks returns the links at the top of a page.
func benchLinks() string {
	var b strings.Builder
	for _, word := range nouns {
		fmt.Fprintf(&b, "<a class=\"nav-link\" href=\"/section/%s\">%s</a> ", word, word)
	}
	return b.String()
}

// benchJSON is the answer of an API that lists products.
func benchJSON() benchFormat {
	return benchFormat{
		head:    `{"page":"` + pageSlot + `","edition":"` + versionSlot + `","items":[` + "\n",
		between: ",\n",
		tail:    "]}\n",
		item: func(i int, chance *rand.Rand) string {
			return fmt.Sprintf(`{"id":%d,"sku":%q,"title":%q,"price":%d.%02d,"stock":%t,"about":%q}`,
				i, storyName(chance), headline(chance), chance.IntN(500), chance.IntN(100), chance.IntN(4) > 0, sentence(chance))
		},
	}
}

// benchFeed is a feed of stories.
func benchFeed() benchFormat {
	return benchFormat{
		head: "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\"><channel><title>Feed " + pageSlot + "</title><link>http://feed.example/</link><description>edition " +
			versionSlot + "</description>\n",
		tail: "</channel></rss>\n",
		item: func(i int, chance *rand.Rand) string {
			name := storyName(chance)
			return fmt.Sprintf("<item><title>%s</title><link>http://feed.example/story/%s</link><guid>http://feed.example/story/%s</guid><pubDate>Tue, 06 Jan 2026 %02d:%02d:00 GMT</pubDate><description>%s %s</description></item>\n",
				headline(chance), name, name, i%24, i%60, sentence(chance), sentence(chance))
		},
	}
}
