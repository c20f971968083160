//! The description of this server for the provider's administrator.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use quick_xml::escape::escape;

use crate::certificate::SigningKey;
use crate::settings::Settings;

/// The metadata of this service provider, an XML document.
#[must_use]
pub fn metadata(settings: &Settings, key: Option<&SigningKey>) -> String {
    let certificate = key.and_then(SigningKey::certificate).map_or_else(String::new, |own| {
        format!(
            "<md:KeyDescriptor use=\"signing\"><ds:KeyInfo \
             xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><ds:X509Data><ds:X509Certificate>{}\
             </ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>",
            BASE64_STANDARD.encode(own.der())
        )
    });
    let format = settings.name_id_format.as_ref().map_or_else(String::new, |format| {
        format!("<md:NameIDFormat>{}</md:NameIDFormat>", escape(format))
    });
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<md:EntityDescriptor \
         xmlns:md=\"urn:oasis:names:tc:SAML:2.0:metadata\" entityID=\"{}\"><md:SPSSODescriptor \
         AuthnRequestsSigned=\"{}\" WantAssertionsSigned=\"true\" \
         protocolSupportEnumeration=\"urn:oasis:names:tc:SAML:2.0:protocol\">{certificate}{format}\
         <md:AssertionConsumerService Binding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST\" \
         Location=\"{}\" index=\"0\" isDefault=\"true\"/></md:SPSSODescriptor>\
         </md:EntityDescriptor>\n",
        escape(&settings.entity_id),
        settings.sign_requests,
        escape(&settings.acs_url),
    )
}
