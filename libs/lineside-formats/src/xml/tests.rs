//! Tests of the limits of the XML reader.

use super::*;

/// Returns the elements of a document as `name(text)`, children of one level in order.
fn leaves(text: &str) -> Result<String, Error> {
    let mut xml = XmlReader::new(text, XmlLimits::default());
    let mut all = String::new();
    let root = xml.open_next_child()?.unwrap_or_default();
    all.push_str(root);
    while let Some(name) = xml.open_next_child()? {
        let text = xml.read_element_text()?;
        all.push_str(&format!(" {name}({text})"));
    }
    Ok(all)
}

fn check(text: &str, expected: &str) {
    assert_eq!(leaves(text).unwrap(), expected, "{text}");
}

fn check_refused(text: &str, kind: ErrorKind, words: &str) {
    let error = leaves(text).unwrap_err();
    assert_eq!(error.kind(), kind, "{error}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn element_names_and_texts_are_read() {
    check("<a><b>1</b><c/><d x='1'/><e></e></a>", "a b(1) c() d() e()");
    check("<?xml version='1.0'?><!-- c --><x:a xmlns:x='u'><x:b>1</x:b></x:a>", "a b(1)");
    check("<a> <b> 1 <!-- no --> 2 </b>\n</a>", "a b( 1  2 )");
    check("<a><b>1<c>2<d/></c>3<e/></b></a>", "a b(13)");
    check("<a><b><![CDATA[<&>]]></b></a>", "a b(<&>)");
    check("<a><b>x\r\ny</b></a>", "a b(x\ny)");
}

#[test]
fn predefined_entities_and_character_references_are_decoded() {
    check("<a><b>&lt;&gt;&amp;&quot;&apos;&#233;&#x1F68B;</b></a>", "a b(<>&\"'\u{e9}\u{1F68B})");
    check("<a><b>A &amp; B</b></a>", "a b(A & B)");
    let mut xml = XmlReader::new("<a><b>A & B</b></a>", XmlLimits::default());
    assert_eq!(xml.open_next_child().unwrap(), Some("a"));
    assert_eq!(xml.open_next_child().unwrap(), Some("b"));
    assert_eq!(xml.read_element_text().unwrap(), "A & B");
    assert_eq!(xml.lone_ampersand_count(), 1);
}

#[test]
fn entities_deep_nesting_and_many_attributes_are_refused() {
    let laughs = "<!DOCTYPE a [<!ENTITY b 'ha'><!ENTITY c '&b;&b;&b;&b;'>]><a><b>&c;</b></a>";
    check_refused(laughs, ErrorKind::Decode, "document type declaration");
    let external = "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>";
    check_refused(external, ErrorKind::Decode, "document type declaration");
    check_refused("<a><b>&passwd;</b></a>", ErrorKind::Decode, "the entity &passwd;");
    check_refused("<a>&passwd;<b/></a>", ErrorKind::Decode, "the entity &passwd;");
    check_refused("<a><b>&#0;</b></a>", ErrorKind::Decode, "the entity &#0;");
    check_refused(
        &("<a>".repeat(10_000) + &"</a>".repeat(10_000)),
        ErrorKind::TooLarge,
        "nested more than 100 levels",
    );
    let many: String = (0..65).map(|n| format!(" a{n}='{n}'")).collect();
    check_refused(&format!("<a{many}/>"), ErrorKind::TooLarge, "more attributes");
    check_refused(&format!("<a b='{}'/>", "x".repeat(20_000)), ErrorKind::TooLarge, "attributes");
    let declared: String =
        (0..40).map(|n| format!("<a{n} xmlns:p{n}='u' xmlns:q{n}='v'>")).collect();
    check_refused(&declared, ErrorKind::Decode, "namespace");
}

#[test]
fn a_document_that_ends_early_is_truncated() {
    let whole = "<?xml version='1.0'?><a><b x='1'>&amp;</b><!-- c --><![CDATA[d]]></a>";
    for cut in 22..whole.len() {
        let error = leaves(&whole[..cut]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Truncated, "{}: {error}", &whole[..cut]);
    }
}

#[test]
fn malformed_xml_is_refused_with_its_line() {
    check_refused("<a>\n<b></c></a>", ErrorKind::Decode, "malformed at line 2");
    check_refused("</a>", ErrorKind::Decode, "malformed at line 1");
}

#[test]
fn namespaces_apply_inside_the_element_that_declares_them() {
    let text = "<a xmlns='outer'><b xmlns='inner' xmlns:p='p'><c/></b><d><e/></d><p:f/></a>";
    let mut xml = XmlReader::new(text, XmlLimits::default());
    let mut open = |expected: (&str, Option<&str>)| {
        let name = loop {
            if let Some(name) = xml.open_next_child().unwrap() {
                break name;
            }
        };
        assert_eq!((name, xml.element_namespace()), expected);
    };
    open(("a", Some("outer")));
    open(("b", Some("inner")));
    open(("c", Some("inner")));
    open(("d", Some("outer")));
    open(("e", Some("outer")));
    open(("f", None));
}

#[test]
fn attributes_are_found_by_local_name() {
    let text = "<a xml:lang='nb' x=\"a&amp;b\"><b/></a>";
    let mut xml = XmlReader::new(text, XmlLimits::default());
    xml.open_next_child().unwrap();
    assert_eq!(xml.attribute("lang").as_deref(), Some("nb"));
    assert_eq!(xml.attribute("x").as_deref(), Some("a&b"));
    assert_eq!(xml.attribute("y"), None);
    xml.open_next_child().unwrap();
    assert_eq!(xml.attribute("lang"), None);
}

#[test]
fn the_encoding_follows_the_declaration_or_the_byte_order() {
    let check = |body: &[u8], expected: &str| {
        let text = decode_document(body).unwrap();
        assert!(text.ends_with(expected), "{text}");
    };
    check("<a>é</a>".as_bytes(), "<a>é</a>");
    check("\u{feff}<a>é</a>".as_bytes(), "<a>é</a>");
    check(b"<?xml version='1.0' encoding='ISO-8859-1'?><a>\xE9</a>", "<a>é</a>");
    check(b"<?xml version='1.0' encoding='windows-1252'?><a>\x80</a>", "<a>€</a>");
    check("<?xml version='1.0' encoding='utf-16'?><a>é</a>".as_bytes(), "<a>é</a>");
    let wide: Vec<u8> =
        "\u{feff}<a>é</a>".encode_utf16().flat_map(|unit| unit.to_le_bytes()).collect();
    check(&wide, "<a>é</a>");
    let wide: Vec<u8> = "<?xml version='1.0'?><a>é</a>"
        .encode_utf16()
        .flat_map(|unit| unit.to_be_bytes())
        .collect();
    check(&wide, "<a>é</a>");
}

#[test]
fn a_wrong_encoding_is_refused() {
    let check = |body: &[u8], kind: ErrorKind| {
        let error = decode_document(body).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
    };
    check(b"<a>\xE9</a>", ErrorKind::Encoding);
    check(b"<?xml version='1.0' encoding='utf-8'?><a>\xE9</a>", ErrorKind::Encoding);
    check(b"<?xml version='1.0' encoding='klingon'?><a/>", ErrorKind::Encoding);
    check(b"\xFF\xFE\x00\xD8\x00\x00", ErrorKind::Encoding);
    check(b"<a>\xC3", ErrorKind::Truncated);
}

proptest::proptest! {
    #[test]
    fn reading_any_text_terminates(text in "[<>/a-c =\"'&;#!\\[\\]x0-9-]{0,200}") {
        let _ = leaves(&text);
        let mut xml = XmlReader::new(&text, XmlLimits::default());
        while let Ok(Some(_)) = xml.open_next_child() {
            let _ = xml.attribute("a");
            if xml.skip_element().is_err() {
                break;
            }
        }
    }

    #[test]
    fn decoding_any_bytes_does_not_panic(body: Vec<u8>) {
        let _ = decode_document(&body);
    }
}
