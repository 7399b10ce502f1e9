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
	"strconv"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// gitBranch is the branch that an export to git writes.
const gitBranch = "refs/heads/main"

// The beginnings of lines of a commit message with the version, and with the place of the change in the log.
const (
	versionTrailer = "Freshet-Version: "
	placeTrailer   = "Freshet-Cursor: "
)

// checkpointEvery is after how many commits git makes them safe.
const checkpointEvery = 1000

// Git writes one commit for each change to a git repository, which is made if there is none: the file SOURCE.txt has the
// text of a source, the author is the source, and the author date when the change was seen. The first version of a
// source and imported ones are commits, too. Called again, it adds what is new. It returns how many commits.
func (s *Selection) Git(ctx context.Context, dir string) (n int, err error) {
	g := gitExport{Selection: s, dir: dir, done: map[freshet.SourceID]int{}}
	if err := g.prepare(ctx); err != nil {
		return 0, fmt.Errorf("export to the git repository %s: %w", dir, err)
	}
	early, err := g.early(ctx)
	if err != nil {
		return 0, err
	}
	if err := g.start(ctx); err != nil {
		return 0, err
	}
	err = g.write(ctx, early)
	if end := g.finish(ctx, err); err == nil {
		err = end
	}
	return g.commits, err
}

// A gitExport is an export to a git repository.
type gitExport struct {
	*Selection
	dir     string
	done    map[freshet.SourceID]int // the newest version that is committed
	after   freshet.Place            // of the last change that is committed
	exists  bool                     // the branch has commits
	sources map[freshet.SourceID]*source

	cmd     *exec.Cmd
	said    bytes.Buffer
	to      *bufio.Writer
	pipe    io.WriteCloser
	commits int
}

// An earlyVersion is a version that no change led to: the first of a source, or an imported one.
type earlyVersion struct {
	*source
	number  int
	seen    time.Time
	subject string
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
	return g.readLog(ctx)
}

// readLog reads how far the export of each source and of the log of changes has come.
func (g *gitExport) readLog(ctx context.Context) error {
	cmd := g.git(ctx, "log", "--format=%(trailers:only,unfold)", gitBranch)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	found := false
	var wrong error
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if at, ok := strings.CutPrefix(lines.Text(), placeTrailer); ok && !found {
			found = true
			if g.after, wrong = freshet.ParsePlace(strings.TrimSpace(at)); wrong != nil {
				wrong = fmt.Errorf("the newest commit: %q: %w", at, wrong)
			}
		}
		if version, ok := strings.CutPrefix(lines.Text(), versionTrailer); ok {
			id, number, _ := strings.Cut(version, "/")
			n, _ := strconv.Atoi(number)
			g.done[freshet.SourceID(id)] = max(n, g.done[freshet.SourceID(id)])
		}
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("git log: %w", err)
	}
	return wrong
}

// ownDir reports whether the repository that git finds is that of the folder, and not one around it.
func ownDir(dir, found string) bool {
	if found == "." || found == ".git" {
		return true
	}
	full, err := filepath.Abs(dir)
	return err == nil && (found == full || found == filepath.Join(full, ".git"))
}

// early returns the early versions of all sources that are not committed, the oldest first. They are at the beginning of
// the history of a source.
func (g *gitExport) early(ctx context.Context) (list []earlyVersion, err error) {
	sources, err := g.Selection.sources(ctx)
	if err != nil {
		return nil, err
	}
	g.sources = map[freshet.SourceID]*source{}
	errEnough := errors.New("enough")
	whole := Selection{Client: g.Client, Step: func(int) {}}
	for i := range sources {
		of := &sources[i]
		g.sources[of.id] = of
		err := whole.versionsOf(ctx, *of, g.done[of.id], func(_ source, v client.Version) error {
			e := earlyVersion{of, v.Number, v.SeenAt, "Imported version of " + of.name}
			if v.Quiet != freshet.QuietImported {
				e.subject = "First version of " + of.name
			}
			if v.Quiet == freshet.QuietImported || g.done[of.id] == 0 {
				list = append(list, e)
				g.done[of.id] = v.Number
			}
			if v.Quiet != freshet.QuietImported {
				return errEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnough) {
			return nil, err
		}
	}
	slices.SortFunc(list, func(a, b earlyVersion) int {
		return cmp.Or(a.seen.Compare(b.seen), cmp.Compare(a.id, b.id), cmp.Compare(a.number, b.number))
	})
	return list, nil
}

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

// write writes the early versions and the changes, the oldest first.
func (g *gitExport) write(ctx context.Context, early []earlyVersion) error {
	until := func(at time.Time, all bool) error {
		for len(early) > 0 && (all || !early[0].seen.After(at)) {
			e := early[0]
			early = early[1:]
			if err := g.commit(ctx, e.source, e.number, e.seen, e.subject, ""); err != nil {
				return err
			}
		}
		return nil
	}
	err := g.eachChange(ctx, g.after, func(page []client.Change, _ freshet.Place) error {
		for _, c := range page {
			of := g.sources[c.Source]
			if of == nil || c.Number <= g.done[c.Source] { // purged, committed, or deleted by retention
				continue
			}
			if err := until(c.Before, false); err != nil {
				return err
			}
			if err := g.commit(ctx, of, c.Number, c.Before, cmp.Or(c.Summary, "Changed"), placeTrailer+c.Cursor.String()); err != nil {
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
func (g *gitExport) commit(ctx context.Context, of *source, number int, seen time.Time, subject, trailer string) error {
	text, err := g.Client.Sources.Text(ctx, of.id, number)
	if errors.Is(err, freshet.ErrNotFound) { // deleted by retention
		return nil
	}
	if err != nil {
		return err
	}
	message := oneLine(subject) + "\n\n" + of.url + "\n\n" + fmt.Sprintf("%s%s/%d\n", versionTrailer, of.id, number)
	if trailer != "" {
		message += trailer + "\n"
	}
	fmt.Fprintf(g.to, "commit %s\nauthor %s %d +0000\ncommitter Freshet <freshet@localhost> %d +0000\ndata %d\n%s\n",
		gitBranch, author(of), seen.Unix(), seen.Unix(), len(message), message)
	if g.exists && g.commits == 0 {
		fmt.Fprintf(g.to, "from %s^0\n", gitBranch)
	}
	fmt.Fprintf(g.to, "M 100644 inline %s.txt\ndata %d\n%s\n", of.id, len(text), text)
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
