package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/daemon"
	"freshet/internal/daemon/membudget"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
	"freshet/internal/units"
)

// A Finding says of one thing that a daemon needs whether it is there, and what to do if not.
type Finding struct {
	Subject string `json:"subject"`
	OK      bool   `json:"ok"`
	Text    string `json:"text"`
	Hint    string `json:"hint,omitempty"`
}

// Limits below which Examine warns.
const (
	fewFiles        = 1024
	littleMemory    = 256 * mib
	clockError      = 5 * time.Second
	certificateLeft = 14 * units.Day
)

const setClock = "have systemd-timesyncd, chrony or ntpd set the clock"

// Examine looks at what a daemon with these settings needs of this machine. It requests one page, by
// whose date it judges the clock; none if page is "". It changes nothing.
func Examine(ctx context.Context, s config.Settings, page string, now func() time.Time) (found []Finding) {
	add := func(subject string, text string, err error) {
		f := Finding{Subject: subject, OK: err == nil, Text: text}
		if err != nil {
			f.Text, f.Hint = err.Error(), freshet.HintOf(err)
		}
		found = append(found, f)
	}
	add("data directory", s.Data, examineData(s.Data))
	text, err := examineSpace(s)
	add("disk", text, err)
	if files := openFiles(); files > 0 {
		add("open files", fmt.Sprintf("up to %d", files), examineFiles(files))
	}
	if total, _ := membudget.Machine(os.DirFS("/")); total > 0 {
		add("memory", about(total), examineMemory(total))
	}
	text, err = examinePort(ctx, s)
	add("port", text, err)
	if s.API.Cert != "" {
		text, err = examineCertificate(s, now())
		add("certificate", text, err)
	}
	if page != "" {
		text, err = examineWeb(ctx, s, page, now)
		add("web and clock", text, err)
	}
	text, err = examineBrowser(ctx, s)
	add("browser", text, err)
	if s.Store != "" {
		text, err = examineDatabase(ctx, s)
		add("PostgreSQL", text, err)
	}
	return found
}

func examineData(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return writable(existing(dir)) // it will be made there
	case err != nil:
		return err
	case !info.IsDir():
		return freshet.WithHint(fmt.Errorf("%s is not a directory", dir), "choose another with --data")
	case info.Mode().Perm()&0o077 != 0:
		return freshet.WithHint(fmt.Errorf("others can read %s, which has secrets and sessions", dir), "chmod 700 "+dir)
	}
	return writable(dir)
}

// existing returns the directory itself, or else the nearest above it that there is.
func existing(dir string) string {
	for {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			return dir
		}
		dir = filepath.Dir(dir)
	}
}

func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".freshet-doctor-*")
	if err != nil {
		return freshet.WithHint(fmt.Errorf("this user cannot write to %s", dir), "run it as the owner, or choose another directory with --data")
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

func examineSpace(s config.Settings) (string, error) {
	free, size, err := spaceOf(existing(s.Data))
	if err != nil {
		return "", err
	}
	reserve := max(0, cmp.Or(s.Reserve, daemon.DefaultReserve(size)))
	text := fmt.Sprintf("%s of %s are free; polling stops below %s", about(free), about(size), about(reserve))
	if free < reserve {
		return "", freshet.WithHint(errors.New(text), "free some space, keep less (keep.total), or lower --reserve")
	}
	return text, nil
}

// about returns a size in whole MiB.
func about(size int64) string { return units.FormatSize(size &^ (mib - 1)) }

func examineFiles(files int) error {
	if files >= fewFiles {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("up to %d, so fewer polls run at a time", files), "raise it with ulimit -n, or LimitNOFILE in the unit of systemd")
}

func examineMemory(total int64) error {
	if total >= littleMemory {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("%s, of which a few hundred sources need half", about(total)), "raise the limit of the container, or MemoryMax in the unit of systemd")
}

func examinePort(ctx context.Context, s config.Settings) (string, error) {
	if a, err := ReadAddress(s.Data); err == nil && a.URL != "" && a.Answers(ctx) {
		return "a daemon listens on " + a.URL, nil
	}
	l, err := listen(s.API.Listen)
	if err != nil {
		return "", err
	}
	return s.API.Listen + " is free", l.Close()
}

func examineCertificate(s config.Settings, now time.Time) (string, error) {
	pair, err := tls.LoadX509KeyPair(s.API.Cert, s.API.Key)
	if err != nil {
		return "", freshet.WithHint(err, "--tls-cert and --tls-key name PEM files of a certificate and its key")
	}
	end := pair.Leaf.NotAfter
	text := fmt.Sprintf("%s is valid until %s", s.API.Cert, end.Format(time.DateOnly))
	if end.Sub(now) < certificateLeft {
		return "", freshet.WithHint(errors.New(text), "renew it; the daemon takes on a new file at once")
	}
	if at, err := url.Parse(s.API.URL); err == nil && at.Host != "" {
		if err := pair.Leaf.VerifyHostname(at.Hostname()); err != nil {
			return "", freshet.WithHint(err, "get a certificate for the name in api.url")
		}
	}
	return text, nil
}

func examineWeb(ctx context.Context, s config.Settings, page string, now func() time.Time) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, page, nil)
	if err != nil {
		return "", err
	}
	resp, err := s.Fetch.Named(10*time.Second, 0).Do(req)
	if err != nil {
		look := "the network and the firewall"
		if _, ok := errors.AsType[*net.DNSError](err); ok {
			look = "/etc/resolv.conf"
		}
		return "", freshet.WithHint(err, "check "+look+", or name a page that you can reach with --url")
	}
	resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return page + " answers, without a date", nil
	}
	if off := now().Sub(date).Abs(); off > clockError {
		return "", freshet.WithHint(fmt.Errorf("the clock differs from that of %s by %s", page, units.FormatDuration(off.Round(time.Second))), setClock)
	}
	return page + " answers, and its clock agrees", nil
}

// examineBrowser shows a page in the browser, if there is one.
func examineBrowser(ctx context.Context, s config.Settings) (string, error) {
	r, err := browser.New(s.Render)
	if err != nil {
		return "", err
	}
	path, version, err := r.Check()
	if err != nil && s.Render.Browser == "" {
		return "none; only sources with render need one", nil
	}
	if err == nil {
		err = tryBrowser(ctx, r)
	}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return "", freshet.WithHint(e, cmp.Or(e.Hint, "start "+path+" by hand to see why; in a container it must be allowed to make user namespaces"))
	}
	return fmt.Sprintf("%s %s shows pages", path, version), err
}

func tryBrowser(ctx context.Context, r *browser.Renderer) error {
	b, err := r.Open(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	page := freshet.Response{URL: "http://freshet.invalid/", Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}}, Body: []byte("<p>hello")}
	_, err = b.Render(ctx, browser.Page{Document: page})
	return err
}

// examineDatabase connects to PostgreSQL. What its operator may have decided, such as to have no standby, is no fault.
func examineDatabase(ctx context.Context, s config.Settings) (string, error) {
	ahead, warnings, err := postgres.Examine(ctx, databaseOf(s, nil))
	if err != nil {
		return "", err
	}
	if ahead.Abs() > clockError {
		return "", freshet.WithHint(fmt.Errorf("its clock differs from that of this machine by %s", units.FormatDuration(ahead.Abs().Round(time.Second))), setClock)
	}
	return strings.Join(append([]string{s.ShownStore() + " answers"}, warnings...), "; "), nil
}
