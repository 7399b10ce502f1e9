package extract_test

import (
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"freshet/internal/extract"
	"freshet/internal/freshet/reading"
)

// On a machine that is busy with others a child hardly gets the processor: it is stopped most of
// the time here. What it reads takes longer than its time by the clock, and is read all the same.
func TestReaderBearsABusyMachine(t *testing.T) {
	const most = time.Second
	r := newReader(t, extract.ReaderConfig{Workers: 1, Timeout: most})
	if _, err := r.Read(t.Context(), reading.Recipe{CSS: "p"}, page("<p>a")); err != nil {
		t.Fatal(err)
	}
	pids := children(t)
	if len(pids) != 1 {
		t.Fatalf("the reader has the children %v, want one", pids)
	}
	pid, err := strconv.Atoi(pids[0])
	if err != nil {
		t.Fatal(err)
	}
	heavy := reading.Recipe{CSS: "*:not(:has(*)) ~ *, div:nth-last-child(2n+1) ~ div:nth-child(3n)"}
	began, read := time.Now(), make(chan error, 1)
	go func() {
		_, err := r.Read(t.Context(), heavy, page(strings.Repeat("<div><i>x</i></div>", 3000)))
		read <- err
	}()
	for time.Since(began) < most*3/2 {
		syscall.Kill(pid, syscall.SIGSTOP) // it may have been killed, which the read tells
		<-time.After(most / 10)
		syscall.Kill(pid, syscall.SIGCONT)
		select {
		case err := <-read:
			if err != nil {
				t.Errorf("after %v a page that takes little to read is given up: %v", time.Since(began), err)
			}
			return // sooner than it should on a very fast machine
		case <-time.After(time.Millisecond):
		}
	}
	if err := <-read; err != nil {
		t.Errorf("after %v a page that takes little to read is given up: %v", time.Since(began), err)
	}
}
