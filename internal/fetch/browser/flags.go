package browser

import (
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"time"

	"freshet/internal/freshet/rendering"
	"freshet/internal/mask"
)

// startPatience is how long a browser may take to start on a busy machine, if a page may take no
// more than twice as long.
const startPatience = 30 * time.Second

// flags returns how a browser is started: alone, without a past, and with no way out
// but the proxy.
func (r *Renderer) flags(profile string, size rendering.Viewport) []string {
	flags := []string{
		"--headless", "--remote-debugging-pipe", "--user-data-dir=" + profile,
		"--no-first-run", "--no-default-browser-check", "--disable-default-apps", "--disable-extensions", "--disable-component-extensions-with-background-pages",
		"--disable-sync", "--disable-background-networking", "--disable-component-update", "--disable-client-side-phishing-detection", "--safebrowsing-disable-auto-update",
		"--disable-domain-reliability", "--disable-breakpad", "--disable-crash-reporter", "--metrics-recording-only", "--no-pings", "--no-service-autorun",
		"--disable-field-trial-config", "--disable-search-engine-choice-screen", "--password-store=basic", "--use-mock-keychain",
		"--disable-features=Translate,MediaRouter,DialMediaRouteProvider,OptimizationHints,AutofillServerCommunication,CertificateTransparencyComponentUpdater,InterestFeedContentSuggestions,SpareRendererForSitePerProcess,NetworkPrediction,Prerender2,LensOverlay,BackgroundFetch,NetworkTimeServiceQuerying",

		// The proxy, for this machine too, and nothing beside it. What the browser asks for
		// updates of itself is no request of the page: it gets past the proxy and no
		// further, since no name is resolved.
		"--proxy-bypass-list=<-loopback>;update.googleapis.com", "--disable-quic", "--dns-prefetch-disable", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--webrtc-ip-handling-policy=disable_non_proxied_udp", "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
		"--ignore-certificate-errors-spki-list=" + r.authority.pin,

		// What the browser would ask for itself.
		"--gaia-url=https://browser.invalid", "--google-apis-url=https://browser.invalid", "--google-base-url=https://browser.invalid",

		"--block-new-web-contents", "--deny-permission-prompts", "--disable-notifications", "--disable-file-system", "--disable-prompt-on-repost", "--mute-audio", "--hide-scrollbars",
		"--disable-gpu", "--disable-dev-shm-usage", "--disable-hang-monitor", "--disable-renderer-backgrounding", "--disable-backgrounding-occluded-windows", "--disable-background-timer-throttling",
		"--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text", "--lang=en-US",
		"--js-flags=--max-old-space-size=512",
		fmt.Sprintf("--window-size=%d,%d", size.Width, size.Height),
	}
	if os.Geteuid() == 0 {
		flags = append(flags, "--no-sandbox") // Chromium refuses to start as root otherwise
	}
	if ua := userAgent(r.version, r.cfg.Agent); ua != "" {
		flags = append(flags, "--user-agent="+ua)
	}
	return append(flags, "about:blank")
}

// proxyFlag tells a browser where the proxy is.
func proxyFlag(at net.Addr) string { return "--proxy-server=http://" + at.String() }

// A tail keeps the end of what a browser prints, for when it does not start.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write takes in a piece of what is printed.
func (t *tail) Write(p []byte) (int, error) {
	const most = 2000
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-most):]...)
	t.text = t.text[max(0, len(t.text)-most):]
	return len(p), nil
}

// String returns the last line that says something.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "?")), "\n")
	return mask.Shorten(lines[len(lines)-1], 300)
}
