package wrongpage_test

import (
	"testing"

	"freshet/internal/extract/wrongpage"
	"freshet/internal/freshet/reading"
	"freshet/internal/freshet/suspect"
)

// FuzzJudge wants every page to be judged, the same each time, and no page to be suspect
// that is as before.
func FuzzJudge(f *testing.F) {
	f.Add("Just a moment...", []byte("verify you are human"), []byte("a\nb\nc\nd\ne\nf\ng\nh\ni\nj"))
	f.Add("", []byte("a\nb\nj"), []byte("a\nb\nc\nd\ne\nf\ng\nh\ni\nj"))
	f.Add("\xff", []byte("\xff\xfe ログイン"), []byte(""))
	f.Fuzz(func(t *testing.T, title string, text, before []byte) {
		for _, kind := range []reading.Kind{reading.HTML, reading.JSON, reading.Text} {
			p := wrongpage.Page{Kind: kind, Title: title, Text: text, Body: before}
			past := &wrongpage.Past{Text: before, Body: func() []byte { return text }}
			if a, b := wrongpage.Judge(p, past), wrongpage.Judge(p, past); a != b {
				t.Errorf("judged as %q and as %q", a, b)
			}
			wrongpage.Judge(p, nil)
			p.Body = text
			if why := wrongpage.Judge(p, &wrongpage.Past{Text: text, Body: past.Body}); why != "" && why != suspect.Empty && len(wordsIn(text)) > 0 {
				t.Errorf("a page that is as before is suspect by %q", why)
			}
			wrongpage.Alike(text, before)
		}
	})
}

// wordsIn returns the letters of a text.
func wordsIn(text []byte) (letters []byte) {
	for _, b := range text {
		if b >= 'a' && b <= 'z' {
			letters = append(letters, b)
		}
	}
	return letters
}
