package importer

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ReadFolder returns what a folder or an archive holds as one list: the data of changedetection.io
// with its history, the jobs of urlwatch or webchanges with their configuration, or its only file. Its
// text is "" if it is none of them.
func ReadFolder(folder fs.FS) (l List, err error) {
	var names []string
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(name, "__MACOSX/") {
			names = append(names, name)
		}
		return err
	})
	text := ""
	if err == nil {
		text, err = joinWatches(folder, names)
	}
	if err != nil || text != "" {
		return List{Format: Changedetection, Text: text, History: cdHistory(folder, names)}, err
	}
	l.Format, l.Text, err = joinJobs(folder, names)
	if err == nil && l.Text == "" && len(names) == 1 {
		text, err := fs.ReadFile(folder, names[0])
		return List{Text: string(text)}, err
	}
	return l, err
}

// joinJobs returns the jobs in a folder, and the configuration after them.
func joinJobs(folder fs.FS, names []string) (format Format, text string, err error) {
	var jobs, config []string
	for _, name := range slices.Sorted(slices.Values(names)) {
		if ext := path.Ext(name); strings.Contains(name, "/") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		b, err := fs.ReadFile(folder, name)
		if err != nil {
			return "", "", fmt.Errorf("read %s: %w", name, err)
		}
		f, known := Detect(string(b))
		switch {
		case !known || f != Urlwatch && f != Webchanges:
			continue
		case configKey.MatchString(string(b)) && !jobKey.MatchString(string(b)):
			config = append(config, string(b))
		default:
			jobs = append(jobs, string(b))
		}
		if format != Webchanges {
			format = f
		}
	}
	return format, strings.Join(append(jobs, config...), "\n---\n"), nil
}
