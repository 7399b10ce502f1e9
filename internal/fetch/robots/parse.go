package robots

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxBytes is how much of a robots.txt is read, as RFC 9309 asks for at least.
const MaxBytes = 500 << 10

// A File is a robots.txt that has been read.
type File struct {
	groups   []group
	sitemaps []string
	problems []Problem
}

// A group is what a robots.txt asks of some programs.
type group struct {
	agents []agentLine
	rules  []Rule
	delays []delayLine
}

// An agentLine names a program that a group is for.
type agentLine struct {
	name string // as token returns it
	run  int    // of names that follow each other
}

// A delayLine asks for a pause between requests.
type delayLine struct {
	delay time.Duration
	run   int // of names that it follows
}

// A Rule is a line that allows or disallows paths.
type Rule struct {
	Line    int    `json:"line"` // in the file, from 1
	Allow   bool   `json:"allow,omitempty"`
	Pattern string `json:"pattern"` // as it was written
}

// String returns the rule as a line of a robots.txt.
func (r Rule) String() string {
	switch {
	case r.Line == 0:
		return ""
	case r.Allow:
		return "Allow: " + r.Pattern
	}
	return "Disallow: " + r.Pattern
}

// A Problem is something in a robots.txt that its author probably meant otherwise.
type Problem struct {
	Line int // in the file, from 1; 0 means all of it
	Text string
}

// String returns the problem with its place.
func (p Problem) String() string {
	if p.Line == 0 {
		return p.Text
	}
	return fmt.Sprintf("line %d: %s", p.Line, p.Text)
}

// mostProblems is how many problems of a file are reported.
const mostProblems = 100

// Sitemaps returns where the file says that sitemaps are, as written there and in the
// order of the file. They can be relative, and can be there twice.
func (f *File) Sitemaps() []string { return f.sitemaps }

// Problems returns what is wrong with the file, the first hundred things of it. A file
// with problems counts nevertheless: every line that can be read does.
func (f *File) Problems() []Problem { return f.problems }

// Parse reads a robots.txt. Every content is one: what cannot be read is skipped, and
// reported as a problem.
func Parse(body []byte) *File {
	r := reader{file: &File{}}
	if len(body) > MaxBytes {
		r.problem(0, "only the first %d KiB count", MaxBytes>>10)
		body = body[:MaxBytes]
		body = body[:bytes.LastIndexAny(body, "\r\n")+1] // a line cut short can mean more than the whole of it
	}
	text := textOf(body)
	if isHTML(text) {
		r.problem(0, "this is an HTML page, not a robots.txt: it has no rules")
		return r.file
	}
	for n := 1; text != ""; n++ {
		var line string
		line, text = cutLine(text)
		r.read(n, line)
	}
	if r.group != nil {
		r.file.groups = append(r.file.groups, *r.group)
	}
	return r.file
}

// textOf returns the text of a body without a byte order mark and without NUL bytes. So
// UTF-16 can be read, too.
func textOf(body []byte) string {
	switch {
	case bytes.HasPrefix(body, []byte("\xef\xbb\xbf")):
		body = body[3:]
	case bytes.HasPrefix(body, []byte("\xfe\xff")):
		return fromUTF16(body[2:], func(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) })
	case bytes.HasPrefix(body, []byte("\xff\xfe")):
		return fromUTF16(body[2:], func(b []byte) uint16 { return uint16(b[1])<<8 | uint16(b[0]) })
	}
	return string(bytes.ReplaceAll(body, []byte{0}, nil))
}

func fromUTF16(body []byte, unit func([]byte) uint16) string {
	units := make([]uint16, 0, len(body)/2)
	for ; len(body) > 1; body = body[2:] {
		if u := unit(body); u != 0 {
			units = append(units, u)
		}
	}
	return string(utf16.Decode(units))
}

// isHTML reports whether a text is a page, as many sites send for what they do not have.
func isHTML(text string) bool {
	text = strings.TrimSpace(text)
	for strings.HasPrefix(text, "<!--") || strings.HasPrefix(text, "<?xml") {
		_, rest, _ := strings.Cut(text, ">")
		text = strings.TrimSpace(rest)
	}
	start := strings.ToLower(text[:min(len(text), 16)])
	for _, tag := range []string{"<!doctype", "<html", "<head", "<body", "<title", "<meta", "<script"} {
		if strings.HasPrefix(start, tag) {
			return true
		}
	}
	return false
}

// cutLine returns the first line of a text, which ends with LF, CR or both, and the rest.
func cutLine(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, ""
	}
	line, rest = text[:i], text[i+1:]
	if text[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest
}

// A reader reads a robots.txt line by line.
type reader struct {
	file  *File
	group *group // the present one; nil before the first
	ruled bool   // it has rules: the next name begins another group
	run   int    // of names in the group
}

func (r *reader) problem(line int, format string, args ...any) {
	if len(r.file.problems) < mostProblems {
		r.file.problems = append(r.file.problems, Problem{Line: line, Text: fmt.Sprintf(format, args...)})
	}
}

// read takes in one line.
func (r *reader) read(n int, line string) {
	line, _, _ = strings.Cut(line, "#")
	if line = strings.TrimSpace(line); line == "" {
		return
	}
	key, value, ok := strings.Cut(line, ":")
	if !ok {
		r.problem(n, "%s is not a line of a robots.txt: it has no colon", shown(line))
		return
	}
	key, value = strings.TrimSpace(key), strings.TrimSpace(value)
	switch strings.ToLower(key) {
	case "user-agent":
		r.agent(n, value)
	case "allow", "disallow":
		r.rule(Rule{Line: n, Allow: strings.EqualFold(key, "allow"), Pattern: value})
	case "crawl-delay":
		r.delay(n, value)
	case "sitemap":
		if value == "" {
			r.problem(n, "the sitemap has no URL")
			return
		}
		r.file.sitemaps = append(r.file.sitemaps, strings.ToValidUTF8(value, "\ufffd"))
	default:
		r.unknown(n, key)
	}
}

// agent takes in who a group is for.
func (r *reader) agent(n int, value string) {
	if r.ruled {
		r.file.groups = append(r.file.groups, *r.group)
		r.group, r.ruled, r.run = nil, false, 0
	}
	if r.group == nil {
		r.group = &group{}
	}
	if n := len(r.group.delays); n > 0 && r.group.delays[n-1].run == r.run {
		r.run++
	}
	name := token(value)
	if name == "" {
		r.problem(n, "%s names no program", cmp.Or(shown(value), "User-agent without a name"))
	}
	r.group.agents = append(r.group.agents, agentLine{name: name, run: r.run})
}

// rule takes in a rule. One without a pattern has no say, but is one.
func (r *reader) rule(rule Rule) {
	if r.group == nil {
		r.problem(rule.Line, "a rule before the first User-agent is for nobody")
		return
	}
	r.ruled = true
	if rule.Pattern == "" {
		return
	}
	if c := rule.Pattern[0]; c != '/' && c != '*' {
		r.problem(rule.Line, "%s matches nothing: a path begins with /", shown(rule.Pattern))
	}
	if !utf8.ValidString(rule.Pattern) {
		rule.Pattern = normal(rule.Pattern)
	}
	r.group.rules = append(r.group.rules, rule)
}

// delay takes in a pause between requests.
func (r *reader) delay(n int, value string) {
	d, ok := parseDelay(value)
	switch {
	case r.group == nil:
		r.problem(n, "a Crawl-delay before the first User-agent is for nobody")
	case !ok:
		r.problem(n, "%s is not a number of seconds", cmp.Or(shown(value), "nothing"))
	default:
		r.group.delays = append(r.group.delays, delayLine{delay: d, run: r.run})
	}
}

// foreign are lines that some programs know and RFC 9309 does not. They are no mistakes.
var foreign = map[string]bool{
	"host": true, "clean-param": true, "noindex": true, "nofollow": true, "noarchive": true, "request-rate": true, "visit-time": true,
	"robot-version": true, "comment": true, "content-signal": true, "content-usage": true, "cache-delay": true, "license": true, "schemamap": true,
	"unavailable_after": true, "indexpage": true, "ai-train": true,
}

// slips are words that are probably meant to be others.
var slips = map[string]string{
	"useragent": "User-agent", "user agent": "User-agent", "user_agent": "User-agent", "user-agents": "User-agent", "useg-agent": "User-agent", "user-agen": "User-agent",
	"disalow": "Disallow", "dissallow": "Disallow", "dissalow": "Disallow", "desallow": "Disallow", "diallow": "Disallow", "diasllow": "Disallow", "diaslow": "Disallow",
	"disallaw": "Disallow", "dissalllow": "Disallow", "disllow": "Disallow", "disalllow": "Disallow", "not-allow": "Disallow",
	"alow": "Allow", "allows": "Allow", "alllow": "Allow", "site-map": "Sitemap", "sitemaps": "Sitemap", "site map": "Sitemap", "crawldelay": "Crawl-delay", "crawl delay": "Crawl-delay",
}

// unknown reports an unknown line.
func (r *reader) unknown(n int, key string) {
	key = strings.ToLower(key)
	switch meant := slips[key]; {
	case meant != "":
		r.problem(n, "%s is not known; did you mean %s?", shown(key), meant)
	case !foreign[key]:
		r.problem(n, "%s is not known", shown(key))
	}
}

// shown returns part of a file for a message; "" for nothing.
func shown(text string) string {
	const most = 60
	if text == "" {
		return ""
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	if r := []rune(text); len(r) > most {
		text = string(r[:most]) + "..."
	}
	return fmt.Sprintf("%q", text)
}

// everybody is the name by which groups are for all programs that no other group names.
const everybody = "*"

// token returns the name of a program in a User-agent line, or in a User-Agent header,
// in lower case: what stands before its version. A star, which can be followed by a
// remark, is everybody.
func token(agent string) string {
	agent = strings.TrimSpace(agent)
	if rest, ok := strings.CutPrefix(agent, everybody); ok && (rest == "" || rest[0] == ' ' || rest[0] == '\t') {
		return everybody
	}
	end := strings.IndexFunc(agent, func(c rune) bool {
		return !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.ContainsRune("!$%&'+-.^_`|~", c))
	})
	if end < 0 {
		end = len(agent)
	}
	return strings.ToLower(agent[:end])
}
