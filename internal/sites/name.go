package sites

import "strings"

// fileTypes are the endings of files that are no pages. Documents that Freshet can
// read as text, such as PDF, CSV and JSON, are pages.
var fileTypes = endings(
	"jpg jpeg png gif webp avif svg ico bmp tif tiff heic psd ai eps raw " + // pictures
		"mp3 mp4 m4a m4v wav ogg oga ogv flac aac webm avi mov mkv wmv mpg mpeg flv swf m3u8 " + // sound and films
		"zip gz tgz bz2 xz 7z rar tar zst lz4 jar war apk ipa deb rpm dmg pkg msi exe iso img bin cab torrent whl gem crx xpi " + // archives and programs
		"css js mjs map wasm woff woff2 ttf otf eot " + // parts of pages
		"doc docx ppt pptx xls xlsx odt ods odp epub mobi " + // documents without links to read
		"sqlite db parquet npy h5 pt onnx safetensors asc sig sha256 md5")

func endings(list string) map[string]bool {
	set := map[string]bool{}
	for ending := range strings.FieldsSeq(list) {
		set[ending] = true
	}
	return set
}

// entries are folders in which every entry is a page, whatever it is called:
// /wiki/Node.js is an article.
var entries = endings("wiki w tag tags tagged topic topics category label questions search")

// PageName reports whether a normalised URL may be a page, by the ending of its path.
func PageName(url string) bool {
	path := pathOf(url)
	slash := strings.LastIndexByte(path, '/')
	dot := strings.LastIndexByte(path, '.')
	if dot <= slash || len(path)-dot > 12 || !fileTypes[strings.ToLower(path[dot+1:])] {
		return true
	}
	if strings.Contains(path[slash:], ":") { // a page about a file, as wikis have: /wiki/File:Cat.jpg
		return true
	}
	folder := path[:max(slash, 0)]
	return entries[strings.ToLower(folder[strings.LastIndexByte(folder, '/')+1:])]
}

// pathOf returns the path of a normalised URL.
func pathOf(url string) string {
	_, path, _ := split(url)
	return path
}

// split returns the parts of a normalised URL: scheme with host, path, and query.
func split(url string) (origin, path, query string) {
	scheme := strings.Index(url, "://")
	if scheme < 0 {
		return "", "", ""
	}
	host := url[scheme+3:]
	slash := strings.IndexByte(host, '/')
	if slash < 0 {
		return url, "/", ""
	}
	origin = url[:scheme+3+slash]
	path, query, _ = strings.Cut(host[slash:], "?")
	return origin, path, query
}
