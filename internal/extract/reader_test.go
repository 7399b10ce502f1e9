package extract_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet/internal/extract"
	"freshet/internal/freshet"
	"freshet/internal/freshet/failure"
	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
	"freshet/internal/test/tier"
)

const childMode = "be-the-child"

// beChild is what the test binary does as the child of a Reader.
func beChild(args []string) {
	memory := int64(0)
	if len(args) > 0 {
		switch args[0] {
		case "mute":
			return
		case "orphan":
			beParent()
			return
		case "die":
			fmt.Print("freshet content 1\n")
			os.Exit(3)
		}
		memory, _ = strconv.ParseInt(args[0], 10, 64)
	}
	if err := extract.Serve(os.Stdin, os.Stdout, memory); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// beParent has a child that runs away, says so, and waits to be killed.
func beParent() {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	r := extract.NewReader(extract.ReaderConfig{Command: []string{self, childMode}, Timeout: time.Hour})
	if _, err := r.Read(context.Background(), reading.Recipe{CSS: "p"}, page("<p>a")); err != nil {
		panic(err)
	}
	fmt.Println("ready")
	r.Read(context.Background(), reading.Recipe{CSS: runaway}, widePage())
}

func newReader(t *testing.T, cfg extract.ReaderConfig, args ...string) *extract.Reader {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Command = append([]string{self, childMode}, args...)
	r := extract.NewReader(cfg)
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close the reader: %v", err)
		}
		if left := children(t); len(left) > 0 {
			t.Errorf("the reader left the processes %v behind", left)
		}
	})
	return r
}

// children returns the processes whose parent is this one, zombies included.
func children(t *testing.T) (pids []string) {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Skip("there is no /proc here")
	}
	for _, task := range tasks {
		list, err := os.ReadFile("/proc/self/task/" + task.Name() + "/children")
		if err != nil {
			continue // the thread has ended
		}
		pids = append(pids, strings.Fields(string(list))...)
	}
	return pids
}

// childrenOf returns the children of another process.
func childrenOf(t *testing.T, pid int) []string {
	list, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []string
	for _, file := range list {
		if b, err := os.ReadFile(file); err == nil {
			pids = append(pids, strings.Fields(string(b))...)
		}
	}
	return pids
}

// running reports whether a process exists and is not a zombie.
func running(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return false
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z") && !strings.HasPrefix(state, "X")
}

func page(body string) freshet.Response {
	return freshet.Response{MediaType: "text/html; charset=utf-8", Body: []byte(body)}
}

// widePage has 40,000 siblings, over which some selectors take quadratic time.
func widePage() freshet.Response {
	return page(strings.Repeat("<div><i>x</i></div>", 40_000))
}

const runaway = "*:not(:has(*)) ~ *:nth-last-child(2n+1) ~ div:nth-child(3n)"

func TestReaderAgreesWithExtract(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{Timeout: time.Minute})
	json := freshet.Response{MediaType: "application/json", Body: []byte(`{"b": [1, 2], "a": "x"}`)}
	tests := []struct {
		name   string
		recipe reading.Recipe
		resp   freshet.Response
	}{
		{"no selector", reading.Recipe{}, page("<p>a<p>b")},
		{"a selector", reading.Recipe{CSS: "p"}, page("<title>T</title><p>a<p>b")},
		{"a path", reading.Recipe{JSONPath: "$.b"}, json},
		{"no match", reading.Recipe{CSS: "main"}, page("<p>a")},
		{"no JSON", reading.Recipe{JSONPath: "$"}, page("<p>a")},
		{"a wrong recipe", reading.Recipe{CSS: "p["}, page("<p>a")},
		{"a match with nothing in it", reading.Recipe{CSS: "p"}, page("<p>")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want, wantErr := extract.Extract(tt.recipe, tt.resp)
			got, err := r.Read(t.Context(), tt.recipe, tt.resp)
			if string(got.Text) != string(want.Text) || got.Title != want.Title || got.Kind != want.Kind {
				t.Errorf("the reader gives %+v, want %+v", got, want)
			}
			if d := cmp.Diff(fmt.Sprint(wantErr), fmt.Sprint(err)); d != "" || classOf(err) != classOf(wantErr) || freshet.HintOf(err) != freshet.HintOf(wantErr) {
				t.Errorf("the reader fails with %v (%s), want %v (%s)", err, classOf(err), wantErr, classOf(wantErr))
			}
			_, wantInvalid := errors.AsType[*invalid.Error](wantErr)
			if _, ok := errors.AsType[*invalid.Error](err); ok != wantInvalid {
				t.Errorf("the error of the reader is a %T, that of Extract a %T", err, wantErr)
			}
		})
	}
}

func TestReaderKillsRunaways(t *testing.T) {
	tier.Slow(t, "it waits for processes to be killed")
	r := newReader(t, extract.ReaderConfig{Workers: 1, Timeout: time.Second})
	for _, css := range []string{
		"*:not(:has(*)) ~ *",
		"div:nth-last-child(2n+1) ~ div:nth-child(3n)",
		runaway,
	} {
		_, err := r.Read(t.Context(), reading.Recipe{CSS: css}, widePage())
		if classOf(err) != extract.FailLimit || !strings.Contains(err.Error(), "longer than 1s") {
			t.Fatalf("a selector that runs away ends with %v, want a limit", err)
		}
		rd, err := r.Read(t.Context(), reading.Recipe{CSS: "p"}, page("<p>a"))
		if err != nil || string(rd.Text) != "a\n" {
			t.Fatalf("after that a plain selector gives %q, %v", rd.Text, err)
		}
	}
}

func TestReaderStopsGluttons(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{Timeout: time.Minute, Memory: 64 << 20})
	wide := freshet.Response{MediaType: "application/json", Body: []byte("[" + strings.Repeat("{},", 1<<20) + "0]")}
	_, err := r.Read(t.Context(), reading.Recipe{JSONPath: "$..*"}, wide)
	if classOf(err) != extract.FailLimit || !strings.Contains(err.Error(), "64 MiB of memory") {
		t.Fatalf("a path that takes too much memory ends with %v, want a limit", err)
	}
}

func TestReaderObeysItsContext(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{Workers: 1, Timeout: time.Minute})
	why := errors.New("had enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 200*time.Millisecond, why)
	defer cancel()
	if _, err := r.Read(ctx, reading.Recipe{CSS: runaway}, widePage()); !errors.Is(err, why) {
		t.Errorf("a read that was called off ends with %v, want %v", err, why)
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(done, reading.Recipe{CSS: "p"}, page("<p>a")); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that was called off before it began ends with %v", err)
	}
}

// TestReaderReplacesTheDead kills an idle child behind the reader's back.
func TestReaderReplacesTheDead(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{Workers: 1, Timeout: time.Minute})
	for range 3 {
		rd, err := r.Read(t.Context(), reading.Recipe{CSS: "p"}, page("<p>a"))
		if err != nil || string(rd.Text) != "a\n" {
			t.Fatalf("the reader gives %q, %v", rd.Text, err)
		}
		for _, pid := range children(t) {
			n, err := strconv.Atoi(pid)
			if err != nil {
				t.Fatal(err)
			}
			p, err := os.FindProcess(n)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestReaderWithBadCommand(t *testing.T) {
	tests := []struct {
		name   string
		reader *extract.Reader
		class  failure.Class
		want   string
	}{
		{"no such program", extract.NewReader(extract.ReaderConfig{Command: []string{"/nonexistent/program"}}), "", "start the content reader"},
		{"a mute one", newReader(t, extract.ReaderConfig{}, "mute"), "", "no greeting"},
		{"one that dies", newReader(t, extract.ReaderConfig{}, "die"), extract.FailLimit, "crashed (exit code 3)"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := tt.reader.Read(t.Context(), reading.Recipe{CSS: "p"}, page("<p>a"))
			if err == nil || !strings.Contains(err.Error(), tt.want) || classOf(err) != tt.class || freshet.HintOf(err) == "" {
				t.Errorf("the error is %v (class %q, hint %q), want one with %q", err, classOf(err), freshet.HintOf(err), tt.want)
			}
		})
	}
}

func TestReaderClosed(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(t.Context(), reading.Recipe{CSS: "p"}, page("<p>a")); !errors.Is(err, extract.ErrReaderClosed) {
		t.Errorf("a closed reader fails with %v, want %v", err, extract.ErrReaderClosed)
	}
}

func TestReaderInParallel(t *testing.T) {
	r := newReader(t, extract.ReaderConfig{Timeout: 30 * time.Second})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			want := fmt.Sprintf("text %d\n", i)
			rd, err := r.Read(t.Context(), reading.Recipe{CSS: "p"}, page("<p>"+want))
			if err != nil || string(rd.Text) != want {
				t.Errorf("read %d gives %q, %v", i, rd.Text, err)
			}
		})
	}
	wg.Wait()
	if n := len(children(t)); n > 2 {
		t.Errorf("there are %d children, want at most 2", n)
	}
}

// TestChildrenDieWithTheParent kills a process whose reader has a child that
// is busy and will not look at its input.
func TestChildrenDieWithTheParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only linux kills a busy child at once")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, childMode, "orphan")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
		t.Fatal(err)
	}
	pids := childrenOf(t, cmd.Process.Pid)
	if len(pids) != 1 || !running(pids[0]) {
		t.Fatalf("the parent has the children %v, want one", pids)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if !running(pids[0]) {
			return
		}
		<-tick.C
	}
	t.Errorf("the child %s outlives its parent", pids[0])
}

func TestServe(t *testing.T) {
	tests := []struct {
		name, in string
		fails    bool
	}{
		{"no question", "", false},
		{"half a question", "\x00\x00", true},
		{"a question that is too long", "\xff\xff\xff\xff\x00\x00\x00\x00", true},
		{"a question that is no JSON", "\x00\x00\x00\x01\x00\x00\x00\x00{", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			if err := extract.Serve(strings.NewReader(tt.in), &out, 0); (err != nil) != tt.fails {
				t.Errorf("Serve returns %v", err)
			}
			if out.String() != "freshet content 1\n" {
				t.Errorf("Serve says %q", out.String())
			}
		})
	}
}
