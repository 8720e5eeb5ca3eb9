//! Check of fare products with several default rider categories, whose standard price is ambiguous.

use super::GtfsRule;
use crate::{
    Notices, ValidationContext,
    gtfs::{GtfsFeed, GtfsFile},
    notice::{NoticeKind, Severity},
};

pub(super) static RULE: GtfsRule = GtfsRule {
    kinds: &[&KIND],
    files: &[GtfsFile::FareProducts, GtfsFile::RiderCategories],
    check: check_default_rider_categories,
};

static KIND: NoticeKind = NoticeKind {
    code: "fare_product_with_multiple_default_rider_categories",
    severity: Severity::Error,
    fields: &[
        ("fareProductId", "The product."),
        ("csvRowNumber1", "The line of its first row for a default category."),
        ("csvRowNumber2", "The line of its first row for another one."),
        ("riderCategoryId1", "The first default category."),
        ("riderCategoryId2", "The other one."),
    ],
    page: include_str!("fare_product_with_multiple_default_rider_categories.md"),
};

/// The `is_default_fare_category` of a default category.
const IS_DEFAULT: i32 = 1;

/// O(n).
fn check_default_rider_categories(feed: &GtfsFeed, _: &ValidationContext, out: &mut Notices) {
    let table = feed.table(GtfsFile::FareProducts);
    let categories = table.text_column("rider_category_id");
    let defaults = feed.table(GtfsFile::RiderCategories).number_column("is_default_fare_category");
    let link = feed.rows_referenced_by_field(
        GtfsFile::FareProducts,
        "rider_category_id",
        GtfsFile::RiderCategories,
        "rider_category_id",
    );
    let default_of = |row: u32| {
        let code = categories.text_code_of_row(row)?;
        (defaults.get(link.row_referenced_by_code(code)?) == Some(IS_DEFAULT)).then_some(code)
    };
    for (product, rows) in
        feed.rows_grouped_by_field(GtfsFile::FareProducts, "fare_product_id").iter()
    {
        let mut of_default =
            rows.iter().filter_map(|&row| default_of(row).map(|category| (row, category)));
        let Some((row1, category1)) = of_default.next() else { continue };
        let other = of_default.find(|&(_, category)| category != category1);
        let Some((row2, category2)) = other else { continue };
        out.count_notice_with_sample(&KIND, |sample| {
            sample.set_field(
                "fareProductId",
                table.text_column("fare_product_id").text_of_code(product),
            );
            sample
                .set_field("csvRowNumber1", table.line_number(row1))
                .set_field("csvRowNumber2", table.line_number(row2));
            sample.set_field("riderCategoryId1", categories.text_of_code(category1));
            sample.set_field("riderCategoryId2", categories.text_of_code(category2));
        });
    }
}
