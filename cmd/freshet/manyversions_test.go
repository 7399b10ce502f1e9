//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/test/tier"
	"freshet/internal/warc"
)

// versionsOfAPage is how many versions each page of a [versionYard] has.
const versionsOfAPage = 250

// A versionYard is where many versions are imported, exported, backed up and restored, by commands that are killed
// midway and run again.
type versionYard struct {
	*testing.T
	dir      string
	versions int
}

// Versions that are imported, exported, backed up and restored by commands that are killed midway and run again are in
// the end the same. FRESHET_KEEP_VERSIONS says how many there are: make keep-large. The log says how long each command
// took, and how much memory.
func TestManyVersions(t *testing.T) {
	tier.Slow(t, "it runs the program 20 times")
	versions, err := strconv.Atoi(os.Getenv("FRESHET_KEEP_VERSIONS"))
	if err != nil {
		versions = 2 * versionsOfAPage
	}
	t.Parallel()
	y := &versionYard{T: t, dir: t.TempDir(), versions: versions}
	archive := y.archive()
	daemon, url, log := y.serve("data")
	killed := y.killed(func() bool { return size(y.path("data")) > int64(versions)*300 }, "import", archive, "--server", url)
	y.run("import of WARC", "import", archive, "--server", url)
	y.memory(daemon, "of the daemon after the import")
	if got := y.count(url); got != versions/versionsOfAPage {
		t.Fatalf("%d of %d sources are there\n%s", got, versions/versionsOfAPage, log)
	}
	for _, e := range []struct{ what, format, file string }{
		{"versions", "jsonl", "versions.jsonl"}, {"versions", "warc", "versions.warc.gz"}, {"values", "jsonl", "values.jsonl"}, {"values", "parquet", "values.parquet"},
	} {
		file := y.path(e.file)
		export := []string{"export", e.what, "--format", e.format, "--out", file, "--server", url}
		half := int64(versions) * 100
		killed = y.killed(func() bool { return size(file)+size(file+".rows") > half }, export...) && killed
		y.run("export "+e.what+", "+e.format, export...)
		t.Logf("the file has %d MB", size(file)>>20)
	}
	git := []string{"export", "versions", "--format", "git", "--dir", y.path("history.git"), "--server", url}
	killed = y.killed(func() bool { return commits(y.path("history.git")) > 0 || versions < 10_000 }, git...) && killed
	y.run("export versions, git", git...)
	if got := commits(y.path("history.git")); got != versions {
		t.Errorf("%d commits for %d versions", got, versions)
	}
	backup := []string{"backup", y.path("backups"), "--data", y.path("data")}
	killed = y.killed(func() bool { return size(y.path("backups")) > int64(versions)*100 }, backup...) && killed
	y.run("backup", backup...)
	y.run("backup, again", backup...)
	y.memory(daemon, "of the daemon after the exports")
	y.stop(daemon)
	y.run("backup --verify", "backup", "--verify", y.path("backups"))
	y.run("backup restore", "backup", "restore", y.path("backups"), "--data", y.path("restored"))
	daemon, url, _ = y.serve("restored")
	y.run("export from what was restored", "export", "versions", "--out", y.path("restored.jsonl"), "--server", url)
	y.stop(daemon)
	y.equal("versions.jsonl", "restored.jsonl")
	y.complete("versions.jsonl")
	t.Logf("each was killed midway: %v", killed)
}

func (y *versionYard) path(name string) string { return filepath.Join(y.dir, name) }

// archive writes a WARC file of pages of 3 KB of which one line changes.
func (y *versionYard) archive() string {
	y.Helper()
	file, err := os.Create(y.path("archive.warc.gz"))
	if err != nil {
		y.Fatal(err)
	}
	b := bufio.NewWriter(file)
	w := warc.NewWriter(b, true)
	for v := range versionsOfAPage {
		for page := range y.versions / versionsOfAPage {
			r := &warc.Record{Block: fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<title>Page %d</title><p>%s</p>%s", page, changing(page, v), staying(page))}
			r.Add(warc.FieldType, warc.Response)
			r.Add(warc.FieldID, warc.ID(strconv.Itoa(page), strconv.Itoa(v)))
			r.Add(warc.FieldDate, warc.Time(time.Date(2025, 3, 1, v, 0, page, 0, time.UTC)))
			r.Add(warc.FieldTarget, pageURL(page))
			r.Add(warc.FieldContentType, warc.ContentTypeResponse)
			if err := w.Write(r); err != nil {
				y.Fatal(err)
			}
		}
	}
	if err := errors.Join(b.Flush(), file.Close()); err != nil {
		y.Fatal(err)
	}
	return file.Name()
}

func pageURL(page int) string { return fmt.Sprintf("http://127.0.0.1:9/page%05d", page) }

// changing returns the line of a page that is new in a version.
func changing(page, v int) string { return fmt.Sprintf("edition %d of page %d", v, page) }

// staying returns the rest of a page.
func staying(page int) string {
	var b strings.Builder
	for line := range 40 {
		fmt.Fprintf(&b, "<p>Line %d of page %d has the number %x, which never changes.</p>\n", line, page, (page+1)*(line+7)*2654435761)
	}
	return b.String()
}

// serve starts a daemon on a directory, which polls nothing and takes a value from each page.
func (y *versionYard) serve(data string) (daemon *exec.Cmd, url string, log *bytes.Buffer) {
	y.Helper()
	config := y.path(data + ".yaml")
	text := fmt.Appendf(nil, "data: %s\nlisten: 127.0.0.1:0\nbudget: 1/d\nallow_cidr: [127.0.0.0/8]\nsources:\n", y.path(data))
	for page := range y.versions / versionsOfAPage {
		text = fmt.Appendf(text, "  - {url: %q, paused: true, extract: {edition: css p}}\n", pageURL(page))
	}
	if err := os.WriteFile(config, text, 0o600); err != nil {
		y.Fatal(err)
	}
	return startKilled(y.T, config)
}

func (y *versionYard) stop(daemon *exec.Cmd) {
	y.Helper()
	if err := errors.Join(daemon.Process.Signal(syscall.SIGTERM), daemon.Wait()); err != nil {
		y.Errorf("the daemon did not stop gently: %v", err)
	}
}

// start starts a command.
func (y *versionYard) start(args []string) (*exec.Cmd, *bytes.Buffer) {
	y.Helper()
	said := &bytes.Buffer{}
	cmd := exec.CommandContext(y.Context(), "freshet", args...)
	cmd.Env = append(os.Environ(), "FRESHET_CONFIG=none")
	cmd.Stdout, cmd.Stderr = io.Discard, said
	if err := cmd.Start(); err != nil {
		y.Fatal(err)
	}
	return cmd, said
}

// run runs a command to its end, and logs what it took.
func (y *versionYard) run(what string, args ...string) {
	y.Helper()
	began := time.Now()
	cmd, said := y.start(args)
	if err := cmd.Wait(); err != nil {
		y.Fatalf("freshet %s: %v\n%s", strings.Join(args, " "), err, said)
	}
	took := cmd.ProcessState
	y.Logf("%s: %.0f s, of which it computes for %.0f s, in %d MB", what, time.Since(began).Seconds(), (took.UserTime() + took.SystemTime()).Seconds(), took.SysUsage().(*syscall.Rusage).Maxrss>>10)
}

// killed runs a command and kills it once it has come half the way, and reports whether it was still at work.
func (y *versionYard) killed(half func() bool, args ...string) bool {
	y.Helper()
	cmd, said := y.start(args)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for tick := time.NewTicker(2 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if err != nil {
				y.Fatalf("freshet %s: %v\n%s", strings.Join(args, " "), err, said)
			}
			return false
		case <-tick.C:
			if half() {
				_ = cmd.Process.Kill()
				return (<-ended) != nil
			}
		}
	}
}

// memory logs how much memory a daemon had at most, and how long it has computed.
func (y *versionYard) memory(daemon *exec.Cmd, when string) {
	_, most := (&loaded{cmd: daemon}).memory(y.T)
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", daemon.Process.Pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	y.Logf("memory %s: %d MB; it computed for %d s", when, most>>20, (user+system)/100)
}

// count returns how many sources have all their versions.
func (y *versionYard) count(url string) int {
	out, err := exec.CommandContext(y.Context(), "freshet", "list", "--json", "--limit", "0", "--server", url, "--config", "none").Output()
	if err != nil {
		return 0
	}
	return strings.Count(string(out), fmt.Sprintf(`"version": %d,`, versionsOfAPage))
}

// equal wants two files to be the same.
func (y *versionYard) equal(a, b string) {
	y.Helper()
	if out, err := exec.CommandContext(y.Context(), "cmp", y.path(a), y.path(b)).CombinedOutput(); err != nil {
		y.Errorf("%s and %s differ: %s", a, b, out)
	}
}

// complete wants a file to have all versions with what was imported, page by page.
func (y *versionYard) complete(name string) {
	y.Helper()
	file, err := os.Open(y.path(name))
	if err != nil {
		y.Fatal(err)
	}
	defer file.Close()
	n := 0
	for lines := json.NewDecoder(file); ; n++ {
		var line struct {
			Version struct {
				SeenAt time.Time `json:"seen_at"`
			}
			Text string
		}
		if err := lines.Decode(&line); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			y.Fatal(err)
		}
		var page, v int
		_, err := fmt.Sscanf(line.Text, "edition %d of page %d", &v, &page)
		if at := time.Date(2025, 3, 1, v, 0, page, 0, time.UTC); err != nil || v != n%versionsOfAPage || !line.Version.SeenAt.Equal(at) {
			y.Fatalf("version %d of %v is %.200q", n%versionsOfAPage, line.Version.SeenAt, line.Text)
		}
	}
	if n != y.versions {
		y.Errorf("%s has %d versions, want %d", name, n, y.versions)
	}
}

// size returns how many bytes a file or a directory has; zero if it is not there.
func size(path string) (n int64) {
	_ = filepath.Walk(path, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// commits returns how many commits an exported repository has.
func commits(repository string) int {
	out, err := exec.Command("git", "-C", repository, "rev-list", "--count", "main").Output()
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.TrimSpace(string(out)))
	return n
}
