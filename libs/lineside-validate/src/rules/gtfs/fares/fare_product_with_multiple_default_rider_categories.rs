//! Fare products whose price for riders of no special kind cannot be told.

use super::GtfsRule;
use crate::{
    Context, Notices,
    gtfs::{Feed, File},
    notice::{Kind, Severity},
};

pub(super) static RULE: GtfsRule =
    GtfsRule { kinds: &[&KIND], files: &[File::FareProducts, File::RiderCategories], check };

static KIND: Kind = Kind {
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

/// `is_default_fare_category` of the category of most riders.
const IS_DEFAULT: i32 = 1;

/// O(n).
fn check(feed: &Feed, _: &Context, out: &mut Notices) {
    let table = feed.table(File::FareProducts);
    let categories = table.texts("rider_category_id");
    let defaults = feed.table(File::RiderCategories).numbers("is_default_fare_category");
    let link = feed.link(
        File::FareProducts,
        "rider_category_id",
        File::RiderCategories,
        "rider_category_id",
    );
    let default_of = |row: u32| {
        let code = categories.code(row)?;
        (defaults.get(link.row(code)?) == Some(IS_DEFAULT)).then_some(code)
    };
    for (product, rows) in feed.groups(File::FareProducts, "fare_product_id").iter() {
        let mut of_default =
            rows.iter().filter_map(|&row| default_of(row).map(|category| (row, category)));
        let Some((row1, category1)) = of_default.next() else { continue };
        let other = of_default.find(|&(_, category)| category != category1);
        let Some((row2, category2)) = other else { continue };
        out.add(&KIND, |sample| {
            sample.put("fareProductId", table.texts("fare_product_id").text(product));
            sample.put("csvRowNumber1", table.line(row1)).put("csvRowNumber2", table.line(row2));
            sample.put("riderCategoryId1", categories.text(category1));
            sample.put("riderCategoryId2", categories.text(category2));
        });
    }
}
