package netfault_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"freshet/internal/test/netfault"
)

// An echo answers every line with the same one.
type echo struct {
	net.Listener
	heard chan string
	ended chan error // how connections end
}

func newEcho(t *testing.T) *echo {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	e := &echo{l, make(chan string, 10), make(chan error, 10)}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				lines := bufio.NewScanner(c)
				for lines.Scan() {
					e.heard <- lines.Text()
					fmt.Fprintln(c, lines.Text())
				}
				e.ended <- lines.Err()
			}()
		}
	}()
	return e
}

func dial(t *testing.T, w *netfault.Wire) (net.Conn, *bufio.Reader) {
	t.Helper()
	c, err := net.Dial("tcp", w.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c, bufio.NewReader(c)
}

func newWire(t *testing.T, to string) *netfault.Wire {
	w, err := netfault.New(to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// What goes over a wire that is dead for a while arrives when it is good again, and in the
// direction that is not dead at once.
func TestDeadForAWhile(t *testing.T) {
	e := newEcho(t)
	w := newWire(t, e.Addr().String())
	c, in := dial(t, w)
	w.Set(netfault.State{Delay: time.Millisecond})
	say := func(text string) { fmt.Fprintln(c, text) }
	hears := func(want string) {
		t.Helper()
		if got, err := in.ReadString('\n'); err != nil || strings.TrimSpace(got) != want {
			t.Fatalf("%q came back (%v), want %q", got, err, want)
		}
	}
	say("one")
	hears("one")
	w.Set(netfault.State{In: true})
	<-e.heard
	say("two")
	if got := <-e.heard; got != "two" {
		t.Errorf("the other side hears %q", got)
	}
	w.Set(netfault.State{Out: true}) // the answer goes on, and the next question does not
	hears("two")
	say("three")
	w.Set(netfault.Dead)
	c.(*net.TCPConn).CloseWrite()
	if len(e.heard)+len(e.ended) > 0 {
		t.Error("something goes over a dead wire")
	}
	w.Set(netfault.State{})
	hears("three")
	if _, err := in.ReadByte(); err != io.EOF {
		t.Errorf("the end is %v", err)
	}
	if err := <-e.ended; err != nil {
		t.Errorf("the other side ends with %v", err)
	}
}

// A cut is heard by both sides, one that makes an orphan by one only. Afterwards connections
// are made again, to where the wire leads.
func TestCut(t *testing.T) {
	e, other := newEcho(t), newEcho(t)
	w := newWire(t, e.Addr().String())
	begin := func(at *echo) *bufio.Reader {
		t.Helper()
		c, in := dial(t, w)
		fmt.Fprintln(c, "here")
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		<-at.heard
		return in
	}
	in := begin(e)
	if n := w.Cut(); n != 1 {
		t.Errorf("%d connections were cut", n)
	}
	if _, err := in.ReadByte(); err == nil || err == io.EOF {
		t.Errorf("whoever dialled sees %v", err)
	}
	if err := <-e.ended; err == nil {
		t.Error("the other side sees a proper end")
	}

	in = begin(e)
	w.Orphan()
	if _, err := in.ReadByte(); err == nil {
		t.Error("whoever dialled is still connected")
	}
	w.Lead(other.Addr().String())
	begin(other)
	if len(e.ended) > 0 {
		t.Error("the other side has heard that the first is gone")
	}
	w.Cut()
	if err := <-e.ended; err == nil {
		t.Error("the other side sees a proper end")
	}

	w.Set(netfault.State{Refuse: true})
	c, err := net.Dial("tcp", w.Address())
	if err == nil {
		defer c.Close()
		_, err = c.Read(make([]byte, 1))
	}
	if err == nil {
		t.Error("a connection is taken")
	}
}
