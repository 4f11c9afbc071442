// Texts of others: controls, marks of direction and invisible characters are shown as escapes.

// C0 and C1 controls but tab and newline, soft hyphen, marks of direction, zero widths, lone surrogates.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** The text with everything that is invisible, or that changes its order, as `\u{..}`. */
export function visible(text) {
  return String(text).replace(HIDDEN, (c) => `\\u{${c.charCodeAt(0).toString(16)}}`);
}

/** The text on one line, cut to `limit` characters. */
export function oneLine(text, limit = 200) {
  const line = visible(String(text).slice(0, limit + 1)).replace(/[\n\t]+/g, ' ');
  return line.length > limit ? `${line.slice(0, limit)}…` : line;
}

/** Bytes as text if they are UTF-8, else as ASCII with `\xff` for the rest. */
export function textOfBytes(bytes) {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    let text = '';
    for (const byte of bytes) {
      text += byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`;
    }
    return text;
  }
}
