package importer

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
)

// A cdFile is what changedetection.io writes: watches and tags by their IDs, and settings.
type cdFile struct {
	Watching map[string]object `json:"watching"`
	Settings struct {
		Headers     object `json:"headers"`
		Requests    object `json:"requests"`
		Application object `json:"application"`
	} `json:"settings"`
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
		_ = json.Unmarshal(whole["settings"], &file.Settings) // the watches count
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

// joinWatches returns the data folder of changedetection.io as one file: until 0.52 it has a
// url-watches.json, and since then a folder for each watch. It returns "" if it is no such folder.
func joinWatches(folder fs.FS, names []string) (string, error) {
	file := cdFile{Watching: map[string]object{}}
	tags := map[string]any{}
	for _, name := range names {
		var err error
		id := path.Base(path.Dir(name))
		switch path.Base(name) {
		case "url-watches.json":
			whole, err := fs.ReadFile(folder, name)
			return string(whole), err
		case "changedetection.json":
			err = readInto(folder, name, &file)
		case "watch.json":
			watch := object{}
			if err := readInto(folder, name, &watch); err != nil {
				watch = object{unreadable: err.Error()}
			}
			file.Watching[id] = watch
		case "tag.json":
			tag := map[string]any{}
			err = readInto(folder, name, &tag)
			tags[id] = tag
		}
		if err != nil {
			return "", err
		}
	}
	if len(file.Watching) == 0 {
		return "", nil
	}
	if len(tags) > 0 {
		if file.Settings.Application == nil {
			file.Settings.Application = object{}
		}
		file.Settings.Application["tags"] = tags
	}
	joined, err := json.Marshal(file)
	return string(joined), err
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
