package sinks

import (
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"freshet/internal/extract"
	"freshet/internal/freshet"
)

// mostWhat is how many characters say what happened in a subject or a headline.
const mostWhat = 120

// What returns what happened in a few words: how the values differ, the first new line, or the summary.
func (e *Event) What() (string, error) {
	if words := e.whole(); words != "" {
		return words, nil
	}
	if len(e.Fields) > 0 {
		return e.valuesInWords(), nil
	}
	if e.Items != nil || e.Picture != nil {
		return e.Summary, nil
	}
	added, err := e.firstLine(extract.Add)
	if err != nil || added != "" {
		return added, err
	}
	removed, err := e.firstLine(extract.Remove)
	if err != nil || removed != "" {
		return "gone: " + removed, err
	}
	if e.Summary != "" {
		return e.Summary, nil
	}
	return "changed", nil
}

// whole returns what happened to the source as a whole, or to the condition of the query; "" if that is a change.
func (e *Event) whole() string {
	switch {
	case e.Cause == "silent":
		return "is silent"
	case e.Page == "new":
		return "is a new page"
	case e.Page == "gone":
		return "is gone"
	case e.Page == "back":
		return "is back"
	case e.Cause == "poll" && e.QueryName != "":
		return strings.TrimPrefix(e.QueryName, e.Title+": ")
	}
	return ""
}

// valuesInWords returns how values differ, such as "101 → 97", or with their names if there are several.
func (e *Event) valuesInWords() string {
	var parts []string
	for _, f := range e.Fields {
		step := shownValue(f.From) + " → " + shownValue(f.To)
		if len(e.Fields) > 1 {
			step = f.Name + " " + step
		}
		parts = append(parts, step)
	}
	return inBrief(strings.Join(parts, ", "))
}

// shownValue returns a value for people.
func shownValue(v any) string {
	if v == nil {
		return "none"
	}
	return strings.Join(strings.Fields(freshet.ShowValue(v)), " ")
}

// firstLine returns the first line with a text that is new or gone.
func (e *Event) firstLine(op extract.Op) (string, error) {
	d, err := e.compare()
	if err != nil {
		return "", err
	}
	for _, h := range d.Hunks {
		for _, l := range h.Lines {
			if text := strings.Join(strings.Fields(l.Text), " "); l.Op == op && text != "" {
				return inBrief(text), nil
			}
		}
	}
	return "", nil
}

// inBrief returns a text of at most mostWhat characters.
func inBrief(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= mostWhat {
		return text
	}
	return string([]rune(text)[:mostWhat-1]) + "…"
}

// News returns what differs for people: of each place the new lines, each after "+ ", and then those that are
// gone, each after "- ", cut at 16 KiB.
func (e *Event) News() (string, error) {
	d, err := e.compare()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, h := range d.Hunks {
		if b.Len() > maxDiffText {
			break
		}
		for _, side := range []struct {
			op   extract.Op
			mark string
		}{{extract.Add, "+ "}, {extract.Remove, "- "}} {
			for _, l := range h.Lines {
				if l.Op == side.op && strings.TrimSpace(l.Text) != "" && b.Len() <= maxDiffText {
					b.WriteString(side.mark + l.Text + "\n")
				}
			}
		}
		b.WriteString("\n")
	}
	return cut(strings.TrimSpace(b.String()), maxDiffText), nil
}

// DiffLink returns where the page shows the version beside the one that it was compared with, which the page finds; "" if there is no public URL.
func (e *Event) DiffLink() string {
	if e.base == "" || e.Number == 0 || e.Page != "" || e.Kind == kindDigest {
		return ""
	}
	link := fmt.Sprintf("%s/sources/%s/versions?to=%d", strings.TrimSuffix(e.base, "/"), url.PathEscape(string(e.Source)), e.Number)
	if e.Picture != nil {
		link += "&view=pictures"
	}
	return link
}

// Why says why the message is sent, and where that can be stopped.
func (e *Event) Why() string {
	why, path := "every change of this source is sent here", "/sinks"
	if e.Query != "" {
		why, path = "the alert “"+e.QueryName+"” is sent here", "/queries/"+url.PathEscape(string(e.Query))
	}
	if e.base == "" {
		return "You get this because " + why + "."
	}
	return "You get this because " + why + ". Stop or change it: " + strings.TrimSuffix(e.base, "/") + path
}
