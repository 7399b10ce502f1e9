package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/daemon"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
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
	clockError      = 5 * time.Second
	certificateLeft = 14 * units.Day
)

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
	text, err = examineBrowser(s)
	add("browser", text, err)
	if s.Store != "" {
		_, err = Together(ctx, s)
		add("PostgreSQL", s.ShownStore()+" answers", err)
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
	text := fmt.Sprintf("%s of %s are free; polling stops below %s", units.FormatSize(free), units.FormatSize(size), units.FormatSize(reserve))
	if free < reserve {
		return "", freshet.WithHint(errors.New(text), "free some space, keep less (keep.total), or lower --reserve")
	}
	return text, nil
}

func examineFiles(files int) error {
	if files >= fewFiles {
		return nil
	}
	return freshet.WithHint(fmt.Errorf("up to %d, so fewer polls run at a time", files), "raise it with ulimit -n, or LimitNOFILE in the unit of systemd")
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
	return text, nil
}

func examineWeb(ctx context.Context, s config.Settings, page string, now func() time.Time) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, page, nil)
	if err != nil {
		return "", err
	}
	resp, err := s.Fetch.Named(10*time.Second, 0).Do(req)
	if err != nil {
		return "", freshet.WithHint(err, "check the network, /etc/resolv.conf and the proxy, or name a page that you can reach with --url")
	}
	resp.Body.Close()
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return page + " answers, without a date", nil
	}
	if off := now().Sub(date).Abs(); off > clockError {
		return "", freshet.WithHint(fmt.Errorf("the clock differs from that of %s by %s", page, units.FormatDuration(off.Round(time.Second))), "have systemd-timesyncd, chrony or ntpd set the clock")
	}
	return page + " answers, and its clock agrees", nil
}

func examineBrowser(s config.Settings) (string, error) {
	r, err := browser.New(s.Render)
	if err != nil {
		return "", err
	}
	path, version, err := r.Check()
	if err != nil && s.Render.Browser == "" {
		return "none; only sources with render need one", nil
	}
	if e, ok := errors.AsType[*freshet.FetchError](err); ok {
		return "", freshet.WithHint(e, e.Hint)
	}
	return fmt.Sprintf("%s %s", path, version), err
}
