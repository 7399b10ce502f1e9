package browser

import (
	"context"
	"os"
	"os/exec"
	"time"

	"freshet/internal/freshet/failure"
	"freshet/internal/lazyregexp"
)

// names are what Chromium is called on different systems.
var names = []string{"chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"}

// installHint says how to get a browser.
const installHint = "install it (on Debian and Ubuntu: apt-get install chromium), or say where it is with render.browser"

// find returns the path of the browser.
func (c Config) find() (string, error) {
	if c.Browser != "" {
		path, err := exec.LookPath(c.Browser)
		if err != nil {
			return "", fail(failure.RenderMissing, installHint, "there is no browser at %s (render.browser)", c.Browser)
		}
		return path, nil
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fail(failure.RenderMissing, installHint, "Chromium is not installed, which render needs (apt-get install chromium)")
}

var versionNumber = lazyregexp.New(`\b(\d{2,4})(\.\d+){1,3}\b`)

// versionOf asks a browser for its version, such as "148.0.7778.167"; it is "" if the
// browser does not say.
func versionOf(path string) string {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "--version")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.TempDir()}
	cmd.WaitDelay = time.Second
	text, err := cmd.Output()
	if err != nil {
		return ""
	}
	return versionNumber.FindString(string(text[:min(len(text), 1000)]))
}

// userAgent returns how the browser names itself: as its version does, but for the
// details that browsers hide, and with who is asking.
func userAgent(version, agent string) string {
	major := versionNumber.FindStringSubmatch(version)
	if major == nil {
		return ""
	}
	ua := "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/" + major[1] + ".0.0.0 Safari/537.36"
	if agent != "" {
		ua += " " + agent
	}
	return ua
}
