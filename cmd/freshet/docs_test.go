package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A documented command is a line of the documentation that runs freshet.
type documented struct {
	page  string
	args  []string // after freshet
	input string   // what echo writes into it
}

// documentation returns the pages by their paths from the top of the tree.
func documentation(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	add := func(path string) error {
		text, err := os.ReadFile(filepath.Join("../..", path))
		found[path] = string(text)
		return err
	}
	err := fs.WalkDir(os.DirFS("../.."), "docs", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".md" {
			return err
		}
		return add(path)
	})
	if err == nil {
		err = add("README.md")
	}
	if err != nil {
		t.Fatal(err)
	}
	return found
}

var piped = regexp.MustCompile(`^(?:\$ )?(?:(?:[A-Z_]+=\S+ )*|.* \| )(?:bin/|\./|podman exec freshet )?freshet (.*)`)

// commandsIn returns the commands in the indented blocks of a page.
func commandsIn(page, text string) (all []documented) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		indented, is := strings.CutPrefix(line, "    ")
		m := piped.FindStringSubmatch(strings.TrimSpace(indented))
		if !is || m == nil {
			continue
		}
		c := documented{page: page, args: shellWords(m[1])}
		if echo, _, ok := strings.Cut(strings.TrimSpace(indented), " | freshet"); ok {
			c.input = strings.Join(shellWords(echo)[1:], " ")
		}
		all = append(all, c)
	}
	return all
}

// shellWords splits a line as a shell does, up to a comment, a pipe or a redirection.
func shellWords(line string) (words []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ':
			end()
		case strings.ContainsRune("|<>;&", r) || r == '#' && !begun:
			end()
			return words
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	end()
	return words
}

// Every command in the documentation has verbs, flags and arguments that exist.
func TestDocumentedCommandsParse(t *testing.T) {
	n := 0
	for page, text := range documentation(t) {
		for _, c := range commandsIn(page, text) {
			n++
			root := (&program{env: func(string) string { return "" }, out: new(bytes.Buffer), err: new(bytes.Buffer)}).root()
			cmd, rest, err := root.Find(c.args)
			if err == nil {
				err = cmd.ParseFlags(rest)
			}
			if err == nil {
				err = cmd.ValidateArgs(cmd.Flags().Args())
			}
			if _, group := cmd.Annotations[isGroup]; err == nil && group && cmd.Flags().NArg() > 0 {
				err = unknownVerb(cmd, cmd.Flags().Arg(0))
			}
			if err != nil {
				t.Errorf("%s: freshet %s: %v", c.page, strings.Join(c.args, " "), err)
			}
		}
	}
	if n < 150 {
		t.Errorf("only %d commands were found", n)
	}
	t.Logf("%d commands", n)
}

// Every block of YAML in the documentation is a configuration without a mistake.
func TestDocumentedConfigurations(t *testing.T) {
	fenced := regexp.MustCompile("(?s)```yaml\n(.*?)```")
	n := 0
	for page, text := range documentation(t) {
		for _, m := range fenced.FindAllStringSubmatch(text, -1) {
			n++
			text := m[1]
			if strings.HasPrefix(text, "- ") {
				text = "queries:\n" + text
			}
			file := filepath.Join(t.TempDir(), "freshet.yaml")
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if out, code := printed(t, map[string]string{"HOME": t.TempDir()}, []string{"check", file}); code != 0 {
				t.Errorf("%s:\n%s\n%s", page, text, out)
			}
		}
	}
	if n < 30 {
		t.Errorf("only %d blocks were found", n)
	}
	t.Logf("%d blocks", n)
}
