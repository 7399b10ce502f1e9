package extract

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

func compileRegex(a argument) (func(value) (value, error), bool, error) {
	var by struct {
		Pattern string          `json:"pattern"`
		Group   json.RawMessage `json:"group"`
	}
	if s, ok := a.word(); ok {
		by.Pattern = s
	} else if a.json == "" {
		return nil, false, a.missing(`(\d+) items`)
	} else if err := a.object(&by); err != nil {
		return nil, false, err
	}
	re, err := pattern(a.field, by.Pattern)
	if err != nil {
		return nil, false, err
	}
	group, err := chosenGroup(a, re, string(by.Group))
	if err != nil {
		return nil, false, err
	}
	return func(v value) (value, error) {
		text, err := v.plain()
		if err != nil {
			return v, err
		}
		return matches(v, re, group, text)
	}, !gentle(by.Pattern), nil
}

// chosenGroup returns the group that was asked for, or -1 if none was.
func chosenGroup(a argument, re *regexp.Regexp, asked string) (int, error) {
	if asked == "" || asked == "null" {
		return -1, nil
	}
	name := strings.Trim(asked, `"`)
	for i, known := range re.SubexpNames() {
		if name == fmt.Sprint(i) || known != "" && name == known {
			return i, nil
		}
	}
	return 0, invalid.Errorf(a.at("group"), "the pattern has no group %s", asked)
}

// matches returns what a pattern finds: items if its groups have names, otherwise
// one match a line, of which the groups count if there are any.
func matches(v value, re *regexp.Regexp, group int, text []byte) (value, error) {
	most := min(maxValues, maxGroups/(1+re.NumSubexp()))
	found := re.FindAllSubmatch(text, most+1)
	if len(found) == 0 {
		return v, fail(FailSelector, "Look at the text before this step with freshet test.", "nothing matches the pattern %s", quoted(re.String()[len("(?m)"):]))
	}
	if len(found) > most {
		return v, fail(FailLimit, "", "the pattern matches more than %d times", most)
	}
	names := re.SubexpNames()
	if group < 0 && slices.ContainsFunc(names, func(s string) bool { return s != "" }) {
		out := v.withItems(namedMatches(found, names))
		out.named = true
		return out, nil
	}
	var list []string
	size := 0
	for _, m := range found {
		for _, part := range m { // groups can overlap
			size += len(part)
		}
		if size > 2*maxText {
			return v, fail(FailLimit, "", "the groups of the pattern match more than %d MiB", 2*maxText>>20)
		}
		switch {
		case group >= 0:
			list = append(list, string(m[group]))
		case len(m) == 1:
			list = append(list, string(m[0]))
		default:
			var parts []string
			for _, part := range m[1:] {
				parts = append(parts, string(part))
			}
			list = append(list, strings.Join(parts, " "))
		}
	}
	return textValue(v, textLines(list)), nil
}

// namedMatches returns matches as items with the names of the groups for fields.
func namedMatches(found [][][]byte, names []string) (items []freshet.Item, header []string) {
	for _, name := range names {
		if name != "" {
			header = append(header, name)
		}
	}
	t := rows{header: header}
	for _, m := range found[:min(len(found), maxItems)] {
		var row []string
		for i, name := range names {
			if name != "" {
				row = append(row, oneLine(string(m[i]), maxCell))
			}
		}
		t.rows = append(t.rows, row)
	}
	return t.items(), header
}

func compileReplace(a argument) (func(value) (value, error), bool, error) {
	type replacement struct {
		Pattern string `json:"pattern"`
		With    string `json:"with"`
	}
	var list []json.RawMessage
	if a.json == "" || json.Unmarshal([]byte(a.json), &list) != nil {
		list = []json.RawMessage{json.RawMessage(a.json)}
	}
	type compiled struct {
		re   *regexp.Regexp
		with []byte
	}
	var all []compiled
	var written []string
	for i, one := range list {
		part := a
		if len(list) > 1 {
			part.field = fmt.Sprintf("%s[%d]", a.field, i)
		}
		part.json = string(one)
		var r replacement
		if s, ok := part.word(); ok {
			r.Pattern = s
		} else if part.json == "" {
			return nil, false, part.missing(`{pattern: 'v\d+', with: VERSION}`)
		} else if err := part.object(&r); err != nil {
			return nil, false, err
		}
		re, err := pattern(part.at("pattern"), r.Pattern)
		if err != nil {
			return nil, false, err
		}
		if err := checkLength(part.at("with"), r.With); err != nil {
			return nil, false, err
		}
		all, written = append(all, compiled{re, []byte(r.With)}), append(written, r.Pattern)
	}
	return func(v value) (value, error) {
		text, err := v.plain()
		if err != nil {
			return v, err
		}
		for _, c := range all {
			if text, err = replaced(c.re, text, c.with); err != nil {
				return v, err
			}
		}
		return textValue(v, plainText(text)), nil
	}, !gentle(written...), nil
}

// maxGroups is the most groups of all matches of a pattern together.
const maxGroups = 2_000_000

// replaced returns what regexp.ReplaceAll returns. It stops when the text gets too long: a few
// bytes can be replaced by thousands.
func replaced(re *regexp.Regexp, text, with []byte) ([]byte, error) {
	most := maxGroups / (1 + re.NumSubexp())
	found := re.FindAllSubmatchIndex(text, most+1)
	if len(found) > most {
		return nil, fail(FailLimit, "", "the pattern of the replacement matches more than %d times", most)
	}
	if len(found) == 0 {
		return text, nil
	}
	var out []byte
	end, parts := 0, templateParts(with)
	for _, m := range found {
		out = append(out, text[end:m[0]]...)
		end = m[1]
		for _, part := range parts {
			if out = re.Expand(out, part, text, m); len(out) > maxText {
				return nil, fail(FailLimit, "", "the text is longer than %d MiB after the replacement", maxText>>20)
			}
		}
	}
	return append(out, text[end:]...), nil
}

// templateParts splits a template of regexp.Expand into parts with at most one variable each.
func templateParts(with []byte) (parts [][]byte) {
	start := 0
	for i := 0; i < len(with); i++ {
		switch {
		case with[i] != '$':
		case i+1 < len(with) && with[i+1] == '$': // stands for $
			i++
		default:
			parts, start = append(parts, with[start:i]), i
		}
	}
	return append(parts, with[start:])
}
