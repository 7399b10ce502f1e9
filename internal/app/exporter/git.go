package exporter

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// gitBranch is the branch that an export to git writes.
const gitBranch = "refs/heads/main"

// placeTrailer begins the line of a commit message with the place of the change in the log.
const placeTrailer = "Freshet-Cursor: "

// checkpointEvery is after how many commits git makes them safe.
const checkpointEvery = 1000

// Git writes one commit for each change to a git repository, which is made if there is none: the file SOURCE.txt has the
// text of a source, the author is the source, and the author date when the change was seen. The first version of a
// source is a commit, too. Called again, it adds what is new. It returns how many commits.
func (s *Selection) Git(ctx context.Context, dir string) (n int, err error) {
	g := gitExport{Selection: s, dir: dir, there: map[string]bool{}}
	if err := g.prepare(ctx); err != nil {
		return 0, fmt.Errorf("export to the git repository %s: %w", dir, err)
	}
	firsts, err := g.firsts(ctx)
	if err != nil {
		return 0, err
	}
	if err := g.start(ctx); err != nil {
		return 0, err
	}
	err = g.write(ctx, firsts)
	if end := g.finish(ctx, err); err == nil {
		err = end
	}
	return g.commits, err
}

// A gitExport is an export to a git repository.
type gitExport struct {
	*Selection
	dir     string
	there   map[string]bool // the files of the branch
	after   freshet.Place   // of the last change that is committed
	exists  bool            // the branch has commits
	sources map[freshet.SourceID]*gitSource

	cmd     *exec.Cmd
	said    bytes.Buffer
	to      *bufio.Writer
	pipe    io.WriteCloser
	commits int
}

// A gitSource is a source with the first version of it that is stored.
type gitSource struct {
	source
	first int
	seen  time.Time
}

// git runs git in the repository, which no hook or filter of a user disturbs.
func (g *gitExport) git(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", g.dir, "-c", "core.hooksPath=/dev/null", "-c", "gc.auto=0"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

// prepare makes the repository, or reads how far the export to it has come.
func (g *gitExport) prepare(ctx context.Context) error {
	if _, err := exec.LookPath("git"); err != nil {
		return freshet.WithHint(err, "install git, or use another --format")
	}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return err
	}
	if out, err := g.git(ctx, "rev-parse", "--git-dir").CombinedOutput(); err != nil || !ownDir(g.dir, strings.TrimSpace(string(out))) {
		if entries, err := os.ReadDir(g.dir); err != nil || len(entries) > 0 {
			return cmp.Or(err, freshet.WithHint(errors.New("the folder is not empty, and not a git repository"), "choose a folder that does not exist yet"))
		}
		if out, err := g.git(ctx, "init", "--quiet", "--bare").CombinedOutput(); err != nil {
			return fmt.Errorf("git init: %w: %s", err, out)
		}
		if out, err := g.git(ctx, "symbolic-ref", "HEAD", gitBranch).CombinedOutput(); err != nil {
			return fmt.Errorf("git symbolic-ref: %w: %s", err, out)
		}
		return nil
	}
	if g.git(ctx, "rev-parse", "--verify", "--quiet", gitBranch).Run() != nil {
		return nil
	}
	g.exists = true
	files, err := g.git(ctx, "ls-tree", "-z", "--name-only", gitBranch).Output()
	if err != nil {
		return fmt.Errorf("git ls-tree: %w", err)
	}
	for name := range strings.SplitSeq(string(files), "\x00") {
		g.there[name] = true
	}
	message, err := g.git(ctx, "log", "-1", "--grep=^"+placeTrailer, "--format=%B", gitBranch).Output()
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	if _, text, ok := strings.Cut(string(message), placeTrailer); ok {
		if g.after, err = freshet.ParsePlace(strings.TrimSpace(text)); err != nil {
			return fmt.Errorf("the newest commit: %q: %w", strings.TrimSpace(text), err)
		}
	}
	return nil
}

// ownDir reports whether the repository that git finds is that of the folder, and not one around it.
func ownDir(dir, found string) bool {
	if found == "." || found == ".git" {
		return true
	}
	full, err := filepath.Abs(dir)
	return err == nil && (found == full || found == filepath.Join(full, ".git"))
}

// firsts returns the first version of each source, the oldest first.
func (g *gitExport) firsts(ctx context.Context) ([]*gitSource, error) {
	list, err := g.Selection.sources(ctx)
	if err != nil {
		return nil, err
	}
	g.sources = map[freshet.SourceID]*gitSource{}
	var firsts []*gitSource
	errEnough := errors.New("enough")
	whole := Selection{Client: g.Client, Step: func(int) {}}
	for _, of := range list {
		one := &gitSource{source: of}
		g.sources[of.id] = one
		err := whole.versionsOf(ctx, of, 0, func(_ source, v client.Version) error {
			one.first, one.seen = v.Number, v.SeenAt
			return errEnough
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
		if one.first != 0 && !g.there[one.file()] {
			firsts = append(firsts, one)
		}
	}
	slices.SortFunc(firsts, func(a, b *gitSource) int { return cmp.Or(a.seen.Compare(b.seen), cmp.Compare(a.id, b.id)) })
	return firsts, nil
}

func (s *gitSource) file() string { return string(s.id) + ".txt" }

// start starts git fast-import.
func (g *gitExport) start(ctx context.Context) (err error) {
	g.cmd = g.git(ctx, "fast-import", "--quiet", "--done")
	g.cmd.Stderr = &g.said
	if g.pipe, err = g.cmd.StdinPipe(); err != nil {
		return err
	}
	g.to = bufio.NewWriterSize(g.pipe, 64<<10)
	return g.cmd.Start()
}

// finish ends git. What was committed before an error stays.
func (g *gitExport) finish(ctx context.Context, failed error) error {
	_, err := g.to.WriteString("done\n")
	err = errors.Join(err, g.to.Flush(), g.pipe.Close())
	if ended := g.cmd.Wait(); ended != nil && failed == nil && ctx.Err() == nil {
		return fmt.Errorf("git fast-import: %w: %s", ended, g.said.String())
	}
	return err
}

// write writes the first versions and the changes, the oldest first.
func (g *gitExport) write(ctx context.Context, firsts []*gitSource) error {
	until := func(at time.Time, all bool) error {
		for len(firsts) > 0 && (all || !firsts[0].seen.After(at)) {
			f := firsts[0]
			firsts = firsts[1:]
			if err := g.commit(ctx, &f.source, f.file(), f.first, f.seen, "First version of "+f.name, ""); err != nil {
				return err
			}
		}
		return nil
	}
	err := g.eachChange(ctx, g.after, func(page []client.Change, _ freshet.Place) error {
		for _, c := range page {
			of := g.sources[c.Source]
			if of == nil || c.Number <= of.first { // purged, or deleted by retention
				continue
			}
			if err := until(c.Before, false); err != nil {
				return err
			}
			if err := g.commit(ctx, &of.source, of.file(), c.Number, c.Before, cmp.Or(c.Summary, "Changed"), placeTrailer+c.Cursor.String()); err != nil {
				return err
			}
		}
		g.Step(len(page))
		return nil
	})
	if err != nil {
		return err
	}
	return until(time.Time{}, true)
}

// commit writes a commit.
func (g *gitExport) commit(ctx context.Context, of *source, file string, number int, seen time.Time, subject, trailer string) error {
	text, err := g.Client.Sources.Text(ctx, of.id, number)
	if errors.Is(err, freshet.ErrNotFound) { // deleted by retention
		return nil
	}
	if err != nil {
		return err
	}
	message := oneLine(subject) + "\n\n" + of.url + "\n\n" + fmt.Sprintf("Freshet-Version: %s/%d\n", of.id, number)
	if trailer != "" {
		message += trailer + "\n"
	}
	fmt.Fprintf(g.to, "commit %s\nauthor %s %d +0000\ncommitter Freshet <freshet@localhost> %d +0000\ndata %d\n%s\n",
		gitBranch, author(of), seen.Unix(), seen.Unix(), len(message), message)
	if g.exists && g.commits == 0 {
		fmt.Fprintf(g.to, "from %s^0\n", gitBranch)
	}
	fmt.Fprintf(g.to, "M 100644 inline %s\ndata %d\n%s\n", file, len(text), text)
	if g.commits++; g.commits%checkpointEvery == 0 {
		fmt.Fprint(g.to, "checkpoint\n")
	}
	return g.to.Flush()
}

// author returns a source as the author of a commit.
func author(of *source) string {
	host := "localhost"
	if u, err := url.Parse(of.url); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	return fmt.Sprintf("%s <%s@%s>", plain(of.name), of.id, plain(host))
}

// plain returns a text without what git does not have in names.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '<' || r == '>' || r == 0x7f {
			return -1
		}
		return r
	}, text)
}

// oneLine returns a text as the subject of a commit.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
