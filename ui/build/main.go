// Command build bundles the page: it reads ui/src and writes ui/dist. Nobody needs it
// to use or to build Freshet, because what it writes is kept with the code.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	files, err := Bundle(root)
	if err == nil {
		err = os.RemoveAll(filepath.Join(root, "dist")) // parts have new names
	}
	if err == nil {
		err = os.Mkdir(filepath.Join(root, "dist"), 0o755)
	}
	if err == nil {
		for name, text := range files {
			if err = os.WriteFile(filepath.Join(root, "dist", name), text, 0o644); err != nil {
				break
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "build the page:", err)
		os.Exit(1)
	}
}

// Bundle returns the files of the page, made of the sources below a folder.
func Bundle(root string) (map[string][]byte, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	vendor := filepath.Join(root, "vendor")
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: filepath.Join(root, "src", "main.tsx"), OutputPath: "app"},
			{InputPath: filepath.Join(root, "src", "style.css"), OutputPath: "style"},
		},
		AbsWorkingDir: root,
		Outdir:        filepath.Join(root, "dist"),
		Bundle:        true,
		Splitting:     true, // screens that few people open are loaded when they do
		ChunkNames:    "[name]-[hash]",
		Format:        api.FormatESModule,
		Target:        api.ES2022,
		Inject:        []string{filepath.Join(root, "src", "h.ts")},
		JSXFactory:    "$h",
		JSXFragment:   "$Fragment",
		Alias: map[string]string{
			"preact":               filepath.Join(vendor, "preact.mjs"),
			"preact/hooks":         filepath.Join(vendor, "hooks.mjs"),
			"@preact/signals":      filepath.Join(vendor, "signals.mjs"),
			"@preact/signals-core": filepath.Join(vendor, "signals-core.mjs"),
		},
		MinifySyntax:      true,
		MinifyWhitespace:  true,
		MinifyIdentifiers: true,
		Charset:           api.CharsetUTF8,
		LegalComments:     api.LegalCommentsNone,
	})
	if len(result.Errors) > 0 {
		first := result.Errors[0]
		if at := first.Location; at != nil {
			return nil, fmt.Errorf("%s:%d:%d: %s", at.File, at.Line, at.Column, first.Text)
		}
		return nil, fmt.Errorf("%s", first.Text)
	}
	files := map[string][]byte{}
	for _, f := range result.OutputFiles {
		files[filepath.Base(f.Path)] = f.Contents
	}
	return files, nil
}
