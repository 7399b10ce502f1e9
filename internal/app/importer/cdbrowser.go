package importer

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"freshet/internal/lazyregexp"
)

// pictureProcessor compares screenshots.
const pictureProcessor = "image_ssim_diff"

// carryRendering carries over the browser, and what is done in it.
func (w cdWatch) carryRendering() {
	program, browser := w.browser()
	var steps []any
	if delay := cmp.Or(w.text("webdriver_delay"), w.file.Settings.Application.text("webdriver_delay")); delay != "" && delay != "0" {
		steps = append(steps, map[string]any{"wait": delay + "s"})
	}
	for _, one := range w.list("browser_steps") {
		step := objectOf(one)
		does := step.text("operation")
		switch does {
		case "", "Choose one", "Goto site", "Remove elements":
			continue
		}
		if s := browserStep(does, step.text("selector"), step.text("optional_value")); s != nil {
			steps = append(steps, s)
		} else {
			w.lost(fmt.Sprintf("the browser step %q", does), "click, fill, scroll and wait exist")
		}
	}
	if w.text("webdriver_js_execute_code") != "" {
		w.lost("webdriver_js_execute_code", "render: {steps: …} clicks, fills and waits")
	}
	render := object{"viewport": "", "steps": steps}
	if width, height := browser.text("viewport_width"), browser.text("viewport_height"); width != "" && height != "" {
		render["viewport"] = width + "x" + height
	}
	if zone := browser.text("timezone_id"); zone != "" {
		w.lost("timezone_id "+zone, "the browser has the time zone of the machine")
	}
	pictures := w.text("processor") == pictureProcessor
	if pictures {
		render["compare"] = "picture"
	}
	switch render = render.filled(); {
	case !pictures && !rendering.MatchString(program) && len(steps) == 0:
	case len(render) > 0:
		w.Source.Render = map[string]any(render)
	default:
		w.Source.Render = true
	}
}

// rendering matches the names of programs that render pages.
var rendering = lazyregexp.New(`webdriver|browser|playwright|puppeteer|selenium`)

// browserStep returns a step of a browser; nil if there is none like it.
func browserStep(does, selector, value string) any {
	css, ok := cssOf(selector)
	if !ok {
		return nil
	}
	switch does {
	case "Click element", "Click element if exists", "Check checkbox", "Uncheck checkbox":
		return map[string]any{"click": css}
	case "Enter text in field":
		return map[string]any{"fill": map[string]any{css: value}}
	case "Wait for seconds":
		if _, err := time.ParseDuration(value + "s"); err != nil {
			return nil
		}
		return map[string]any{"wait": value + "s"}
	case "Wait for element":
		return map[string]any{"wait": css}
	case "Scroll down":
		return "scroll"
	case "Scroll to element":
		return map[string]any{"scroll": css}
	}
	return nil
}

// pathStep matches a step of a path such as those that are picked in a browser: div[2], or
// *[@id="x"] at its beginning.
var pathStep = lazyregexp.New(`^(?:\*\[@id=["']([\w-]+)["']\]|([A-Za-z][\w-]*)(?:\[(\d+)\])?)$`)

// cssOf returns a selector of an element as one of CSS, and whether there is one. A simple path of
// XPath has one.
func cssOf(selector string) (string, bool) {
	selector = strings.TrimPrefix(selector, "css=")
	path, isPath := strings.CutPrefix(selector, "xpath=")
	if !isPath && !strings.HasPrefix(selector, "/") {
		return selector, true
	}
	var parts []string
	for step := range strings.SplitSeq(strings.TrimLeft(path, "/"), "/") {
		m := pathStep.FindStringSubmatch(step)
		switch {
		case m == nil || m[1] != "" && len(parts) > 0:
			return "", false
		case m[1] != "":
			parts = append(parts, "#"+m[1])
		case m[3] != "":
			parts = append(parts, m[2]+":nth-of-type("+m[3]+")")
		default:
			parts = append(parts, m[2])
		}
	}
	return strings.Join(parts, " > "), regexp.MustCompile(`^//?[^/]`).MatchString(path)
}
