package content_test

import (
	"fmt"
	"strings"
	"testing"

	"freshet"
	"freshet/content"
)

// extractFeed reads a feed, whatever else it looks like.
func extractFeed(body string) (content.Reading, error) {
	return content.Extract(freshet.Recipe{Kind: freshet.Feed}, freshet.Response{Status: 200, MediaType: "application/rss+xml", Body: []byte(body)})
}

// An item is told by its description; its content is told only if it has none.
func TestFeedItems(t *testing.T) {
	const item = `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>T</title><item><title>one</title>%s</item></channel></rss>`
	tests := []struct{ name, in, want string }{
		{"both", "<description>short</description><content:encoded>long</content:encoded>", "one\nshort\n"},
		{"content alone", "<content:encoded>long</content:encoded>", "one\nlong\n"},
		{"a link", "<link>http://a.example/</link><guid>http://b.example/</guid>", "one\nhttp://a.example/\n"},
		{"a GUID that is a link", "<guid>http://b.example/</guid>", "one\nhttp://b.example/\n"},
		{"a GUID that is none", "<guid>b</guid>", "one\n"},
		{"a date", "<pubDate>Sun, 01 Mar 2026 13:00:00 +0100</pubDate>", "one\n2026-03-01T12:00:00Z\n"},
		{"a date that is none", "<pubDate>soon</pubDate>", "one\nsoon\n"},
	}
	for _, tt := range tests {
		rd, err := extractFeed(fmt.Sprintf(item, tt.in))
		if err != nil || string(rd.Text) != tt.want {
			t.Errorf("%s: the item reads %q (%v), want %q", tt.name, rd.Text, err, tt.want)
		}
	}
}

// A feed is read to its thousandth item, and to a depth of 256 elements.
func TestFeedLimits(t *testing.T) {
	var feed strings.Builder
	feed.WriteString("<rss><channel><title>T</title>")
	for i := 1; i <= 1003; i++ {
		fmt.Fprintf(&feed, "<item><title>item %d</title></item>", i)
	}
	rd, err := extractFeed(feed.String() + "</channel></rss>")
	if err != nil || !strings.Contains(string(rd.Text), "item 1000\n") || strings.Contains(string(rd.Text), "item 1001\n") {
		t.Errorf("the feed ends with %.40q (%v), want the thousandth item", rd.Text[max(0, len(rd.Text)-40):], err)
	}
	for depth, class := range map[int]freshet.Failure{256: "", 257: content.FailLimit} {
		deep := strings.Repeat("<a>", depth-2) + strings.Repeat("</a>", depth-2)
		_, err := extractFeed("<rss><channel><title>T</title><item><title>x</title></item>" + deep + "</channel></rss>")
		if classOf(err) != class || (err != nil) != (class != "") {
			t.Errorf("a feed %d elements deep fails with %q (%v), want %q", depth, classOf(err), err, class)
		}
	}
}
