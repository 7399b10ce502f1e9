package extract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/units"
)

// extractFeed reads a feed, whatever else it looks like.
func extractFeed(body string) (extract.Reading, error) {
	return extract.Extract(reading.Recipe{Kind: reading.Feed}, freshet.Response{Status: 200, MediaType: "application/rss+xml", Body: []byte(body)})
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
	for depth, class := range map[int]failure.Class{256: "", 257: extract.FailLimit} {
		deep := strings.Repeat("<a>", depth-2) + strings.Repeat("</a>", depth-2)
		_, err := extractFeed("<rss><channel><title>T</title><item><title>x</title></item>" + deep + "</channel></rss>")
		if classOf(err) != class || (err != nil) != (class != "") {
			t.Errorf("a feed %d elements deep fails with %q (%v), want %q", depth, classOf(err), err, class)
		}
	}
}

// A feed says for how long it stays as it is by its ttl, or by how often it is updated.
func TestFeedTTL(t *testing.T) {
	tests := []struct {
		channel string
		want    time.Duration
	}{
		{"", 0},
		{"<ttl>60</ttl>", time.Hour},
		{"<ttl> 15 </ttl>", 15 * time.Minute},
		{"<ttl>soon</ttl>", 0},
		{"<sy:updatePeriod>hourly</sy:updatePeriod>", time.Hour},
		{"<sy:updatePeriod> hourly </sy:updatePeriod><sy:updateFrequency> 4 </sy:updateFrequency>", 15 * time.Minute},
		{"<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", 24 * time.Hour},
		{"<sy:updatePeriod>now and then</sy:updatePeriod>", 0},
		{"<ttl>5</ttl><sy:updatePeriod>daily</sy:updatePeriod>", 5 * time.Minute},
		{"<item><title>a</title><ttl>60</ttl></item>", 0},
	}
	for _, tt := range tests {
		body := `<rss version="2.0" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel><title>f</title>` + tt.channel + `<item><title>i</title></item></channel></rss>`
		rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "application/rss+xml", Body: []byte(body)})
		if err != nil || rd.FreshFor != tt.want {
			t.Errorf("%s: it stays as it is for %v (%v), want %v", tt.channel, rd.FreshFor, err, tt.want)
		}
	}
}

// A feed says when it is updated: its schedule, and its hours and days of rest.
func TestFeedForetells(t *testing.T) {
	base := time.Date(2000, 1, 1, 12, 0, 0, 0, time.UTC)
	scheduled := func(every time.Duration) []evidence.Next {
		return []evidence.Next{{By: evidence.NextByFeed, At: base, Every: every}}
	}
	for _, c := range []struct {
		channel string
		want    evidence.Announcement
	}{
		{"", evidence.Announcement{}},
		{"<sy:updatePeriod>hourly</sy:updatePeriod>", evidence.Announcement{}},
		{"<sy:updatePeriod>daily</sy:updatePeriod><sy:updateBase>2000-01-01T12:00+00:00</sy:updateBase>", evidence.Announcement{Next: scheduled(units.Day)}},
		{"<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency><sy:updateBase> 2000-01-01T13:00:00+01:00 </sy:updateBase>", evidence.Announcement{Next: scheduled(6 * time.Hour)}},
		{"<sy:updatePeriod>yearly</sy:updatePeriod><sy:updateBase>2000-01-01T12:00+00:00</sy:updateBase>", evidence.Announcement{}},
		{"<sy:updatePeriod>daily</sy:updatePeriod><sy:updateBase>noon</sy:updateBase>", evidence.Announcement{}},
		{"<skipHours><hour>0</hour><hour> 1 </hour><hour>24</hour><hour>77</hour></skipHours>", evidence.Announcement{Rests: 3}},
		{"<skipDays><day>Sunday</day><day>SATURDAY</day><day>Someday</day></skipDays>", evidence.Announcement{Rests: 1<<evidence.RestDays | 1<<(evidence.RestDays+6)}},
		{"<skipHours>" + strings.Repeat("<hour>3</hour>", 40) + "</skipHours><skipDays><day>Monday</day></skipDays>", evidence.Announcement{Rests: 1<<3 | 1<<(evidence.RestDays+1)}},
		{"<skipDays><day>Monday</day><day>Tuesday</day><day>Wednesday</day><day>Thursday</day><day>Friday</day><day>Saturday</day><day>Sunday</day></skipDays>", evidence.Announcement{}},
		{"<item><title>a</title><description>&lt;skipHours&gt;</description><skipHours><hour>4</hour></skipHours></item>", evidence.Announcement{}},
	} {
		body := `<rss version="2.0" xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel><title>f</title>` + c.channel + `<item><title>i</title></item></channel></rss>`
		rd, err := extract.Extract(reading.Recipe{}, freshet.Response{MediaType: "application/rss+xml", Body: []byte(body)})
		if diff := cmp.Diff(c.want, rd.Announced); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", c.channel, err, diff)
		}
	}
}
