package importer

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A cdFile is what changedetection.io writes: watches and tags by their IDs, and settings. Its folder has proxies, browsers
// and headers, too, the last by the names of their files.
type cdFile struct {
	Watching map[string]object `json:"watching"`
	Settings struct {
		Headers     object `json:"headers"`
		Requests    object `json:"requests"`
		Application object `json:"application"`
	} `json:"settings"`
	Proxies  map[string]object `json:"proxies,omitempty"`
	Browsers map[string]object `json:"browsers,omitempty"`
	Headers  map[string]object `json:"header_files,omitempty"`
}

// eachWatch reads url-watches.json, a watch.json, or watches by ID or in a list as the API has them.
func eachWatch(text string, o Options, yield func(Entry)) error {
	file, err := parseWatches(text)
	if err != nil {
		return fmt.Errorf("this is not what changedetection.io exports: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(file.Watching)) {
		e := file.entry(file.Watching[id], o)
		e.Path = "watching." + id
		yield(e)
	}
	return nil
}

// parseWatches reads the watches of a file, in whichever of the layouts they are.
func parseWatches(text string) (file cdFile, err error) {
	watching, whole := json.RawMessage(text), map[string]json.RawMessage{}
	if json.Unmarshal(watching, &whole) == nil {
		for part, into := range map[string]any{"settings": &file.Settings, "proxies": &file.Proxies, "browsers": &file.Browsers, "header_files": &file.Headers} {
			_ = json.Unmarshal(whole[part], into) // the watches count
		}
		switch {
		case whole["watching"] != nil:
			watching = whole["watching"]
		case whole["url"] != nil:
			watching = json.RawMessage("[" + text + "]")
		}
	}
	var list []object
	if json.Unmarshal(watching, &list) != nil {
		return file, json.Unmarshal(watching, &file.Watching)
	}
	file.Watching = map[string]object{}
	for i, w := range list {
		file.Watching[fmt.Sprintf("%06d", i)] = w
	}
	return file, nil
}

// unreadable says why a watch has no settings.
const unreadable = "unreadable watch.json"

// headersFile is the file with the headers of a watch or of all, and its key in a watch.
const headersFile = "headers.txt"

// joinWatches returns the data folder of changedetection.io as one file: until 0.52 it has a
// url-watches.json, which stays there, and since then a folder for each watch. It returns "" if it is no such folder.
func joinWatches(folder fs.FS, names []string) (string, error) {
	file := cdFile{Watching: map[string]object{}, Headers: map[string]object{}}
	tags, prices, headers := map[string]any{}, map[string]any{}, map[string]object{}
	before := ""
	for _, name := range names {
		var err error
		id, base := path.Base(path.Dir(name)), path.Base(name)
		switch base {
		case "url-watches.json":
			before = name
		case "changedetection.json":
			err = readInto(folder, name, &file)
		case "watch.json":
			watch := object{}
			if err := readInto(folder, name, &watch); err != nil {
				watch = object{unreadable: err.Error()}
			}
			file.Watching[id] = watch
		case "tag.json":
			err = readPart(folder, name, id, "", tags)
		case "restock_diff.json":
			err = readPart(folder, name, id, "restock_diff", prices)
		case "proxies.json":
			err = readInto(folder, name, &file.Proxies)
		case "browsers.json":
			err = readInto(folder, name, &file.Browsers)
		default:
			if !strings.HasPrefix(base, "headers") || path.Ext(base) != ".txt" {
				continue
			}
			var text []byte
			text, err = fs.ReadFile(folder, name)
			headers[name] = headersOf(string(text))
		}
		if err != nil {
			return "", err
		}
	}
	switch {
	case len(file.Watching) > 0:
	case before != "":
		text, err := fs.ReadFile(folder, before)
		if err != nil {
			return "", err
		}
		old, err := parseWatches(asUTF8(string(text)))
		if err != nil {
			return string(text), nil
		}
		file.Watching, file.Settings = old.Watching, old.Settings
	default:
		return "", nil
	}
	if len(tags) > 0 {
		if file.Settings.Application == nil {
			file.Settings.Application = object{}
		}
		file.Settings.Application["tags"] = tags
	}
	for id, price := range prices {
		if watch := file.Watching[id]; watch != nil {
			watch[restockKey] = price
		}
	}
	for name, of := range headers {
		if watch := file.Watching[path.Base(path.Dir(name))]; watch != nil {
			watch[headersFile] = map[string]any(of)
		} else {
			file.Headers[path.Base(name)] = of
		}
	}
	joined, err := json.Marshal(file)
	return string(joined), err
}

// readPart adds what a file has, or what it has by a key, to the parts by the ID of a watch or a tag.
func readPart(folder fs.FS, name, id, key string, parts map[string]any) error {
	whole := map[string]any{}
	err := readInto(folder, name, &whole)
	if parts[id] = whole; key != "" {
		parts[id] = whole[key]
	}
	return err
}

// headersOf returns the headers of a file: one on a line.
func headersOf(text string) object {
	headers := object{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(strings.TrimSpace(line), "#") {
			headers[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	return headers
}

// readInto decodes a file.
func readInto(folder fs.FS, name string, v any) error {
	text, err := fs.ReadFile(folder, name)
	if err == nil {
		err = json.Unmarshal([]byte(asUTF8(string(text))), v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
